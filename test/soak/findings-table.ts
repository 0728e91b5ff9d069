import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defectsFolder } from './kept-defects.js';

/** A row of a table of findings. */
export interface FindingRow {
  /** The number of the finding, such as D1. */
  readonly id: string;
  /** Source files of the tests that detect the finding, from the project's root. */
  readonly tests: readonly string[];
  /** Names of kept defects. */
  readonly patches: readonly string[];
  /** Why there is no patch; undefined if there are some. */
  readonly withoutPatch: string | undefined;
}

const noPatch = 'no patch: ';

/** The rows of a table beside the patches. @throws Error for a row with more than four cells */
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
    tests: namesIn(tests),
    patches: withoutPatch === undefined ? namesIn(patches) : [],
    withoutPatch,
  };
}

/** The names in a cell, each in backquotes. */
function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}
