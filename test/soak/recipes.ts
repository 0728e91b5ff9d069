import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { root } from '../acceptance/daemon.js';

/** One block of the recipes: commands, or text for a file. */
export type Step =
  | { readonly type: 'commands'; readonly text: string }
  | { readonly type: 'file'; readonly path: string; readonly text: string }
  | {
      readonly type: 'insertion';
      readonly path: string;
      /** Text of the preceding statement; undefined: at the end of the file. */
      readonly behind: string | undefined;
      readonly text: string;
    };

function stepOf(language: string, text: string): Step {
  if (language === 'bash') return { type: 'commands', text };
  const [first = '', ...rest] = text.split('\n');
  const place = /^\/\/ (\S+?)(?:, (?:behind: (.+)|at the end))?$/.exec(first);
  const path = place?.[1];
  if (path === undefined) throw new Error(`no file in the first line of a block: ${first}`);
  const content = rest.join('\n');
  return first.includes(', ')
    ? { type: 'insertion', path, behind: place?.[2], text: content }
    : { type: 'file', path, text: content };
}

/** The blocks of docs/guides/kinds.md below a heading, in order. */
export function readRecipe(heading: string): readonly Step[] {
  const guide = readFileSync(join(root, 'docs/guides/kinds.md'), 'utf8');
  const section = guide.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`the guide has no heading "${heading}"`);
  const blocks = section.matchAll(/^```(bash|typescript|proto)\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, language = '', text = '']) => stepOf(language, text));
}

/** Executes a step in a copy of the sources. */
export async function carryOut(step: Step, folder: string): Promise<void> {
  if (step.type === 'commands') {
    execFileSync('sh', ['-ec', step.text], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    return;
  }
  const path = join(folder, step.path);
  if (step.type === 'file') {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, step.text);
    return;
  }
  const before = await readFile(path, 'utf8');
  await writeFile(path, inserted(before, step.behind, step.text));
}

/** @throws Error if the statement does not exist */
function inserted(text: string, behind: string | undefined, addition: string): string {
  if (behind === undefined) return text + addition;
  const at = text.indexOf(behind);
  if (at < 0) throw new Error(`nothing to insert behind: ${behind}`);
  const end = text.indexOf(';\n', at) + 2;
  return text.slice(0, end) + addition + text.slice(end);
}
