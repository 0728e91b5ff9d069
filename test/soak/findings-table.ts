import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defectsFolder } from './kept-defects.js';

/** A test that holds a finding. */
export interface NamedTest {
  /** Source file, from the project's root. */
  readonly file: string;
  /** Part of the title. */
  readonly title: string;
}

/** A row of a table of findings. */
export interface FindingRow {
  /** The number of the finding, such as D1. */
  readonly id: string;
  readonly tests: readonly NamedTest[];
  /** Names of kept defects. */
  readonly patches: readonly string[];
  /** Why there is no patch; undefined if there are some. */
  readonly withoutPatch: string | undefined;
}

const noPatch = 'no patch: ';

/** The rows of a table beside the patches. @throws Error for a row of another form */
export function readFindingRows(table: string): readonly FindingRow[] {
  const lines = readFileSync(join(defectsFolder, table), 'utf8').split('\n');
  return lines.filter((line) => /^\| [A-Z]\d+ /.test(line)).map((line) => rowOf(table, line));
}

function rowOf(table: string, line: string): FindingRow {
  const [id = '', , tests = '', patches = '', ...more] = line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
  if (more.length > 0) throw new Error(`${table}, ${id}: a row has four cells`);
  const withoutPatch = patches.startsWith(noPatch) ? patches.slice(noPatch.length) : undefined;
  return {
    id,
    tests: tests.split('<br>').map((text) => {
      const [, file, title] = /^`([^`]+)`: (.+)$/.exec(text) ?? [];
      if (file === undefined || title === undefined)
        throw new Error(`${table}, ${id}: "${text}" is not \`FILE\`: TITLE`);
      return { file, title };
    }),
    patches:
      withoutPatch === undefined
        ? patches.split('<br>').map((text) => text.replaceAll('`', ''))
        : [],
    withoutPatch,
  };
}
