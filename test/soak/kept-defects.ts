import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../acceptance/daemon.js';

/** A patch that reintroduces a fixed defect, and the tests that detect it. */
export interface KeptDefect {
  /** File name without its extension, which describes the defect. */
  readonly name: string;
  /** The absolute path of the patch file. */
  readonly file: string;
  /** Built test file, from the project's root. */
  readonly spec: string;
  /** The pattern of the tests for `mocha -g`. */
  readonly grep: string;
}

/** Folder of the patches. */
export const defectsFolder = join(root, 'test/soak/findings');

/** Arguments of git that apply a patch to the current folder, tolerating moved lines. */
export const applyArguments: readonly string[] = ['apply', '--recount', '-C1'];

/** @throws Error naming the file whose header lacks a line */
export function readKeptDefects(): readonly KeptDefect[] {
  const files = readdirSync(defectsFolder).filter((name) => name.endsWith('.patch'));
  return files.sort().map((name) => {
    const file = join(defectsFolder, name);
    const [header = ''] = readFileSync(file, 'utf8').split('\n\n');
    const field = (label: string): string => {
      const value = new RegExp(`^${label}: (.+)$`, 'm').exec(header)?.[1];
      if (value === undefined)
        throw new Error(`${file} has no line "${label}: ..." before its first empty line`);
      return value.trim();
    };
    return {
      name: name.slice(0, -'.patch'.length),
      file,
      spec: field('Spec'),
      grep: field('Test'),
    };
  });
}

/** Why a patch does not apply to the sources in `folder`; undefined if it applies. */
export function problemOfApplying(defect: KeptDefect, folder: string): string | undefined {
  try {
    execFileSync('git', [...applyArguments, '--check', defect.file], {
      cwd: folder,
      stdio: 'pipe',
    });
    return undefined;
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr);
  }
}
