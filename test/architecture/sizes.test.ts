import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';

/** The limits, and the files and folders that exceeded them with their sizes. eslint.config.mjs reads it too. */
interface Sizes {
  readonly sourceLinesMax: number;
  readonly testLinesMax: number;
  readonly folderFilesMax: number;
  readonly longerSources: Readonly<Record<string, number>>;
  readonly fullerFolders: Readonly<Record<string, number>>;
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const sizes = JSON.parse(read('test/architecture/sizes.json')) as Sizes;
const { sourceLinesMax, testLinesMax, folderFilesMax } = sizes;

const patterns = ['*.ts', '*.mjs', '*.cjs', '*.sh'];
const written = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...patterns], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && !path.includes('/gen/') && existsSync(join(root, path)));

const isTestCase = (path: string): boolean => path.endsWith('.test.ts');
const isTest = (path: string): boolean => isTestCase(path) || path.startsWith('test/');
const linesOf = (path: string): number => read(path).split('\n').length - 1;

/** Entries over the limit that are not listed, or larger than listed. */
function grown(
  found: ReadonlyMap<string, number>,
  max: number,
  listed: Readonly<Record<string, number>>,
): readonly string[] {
  return [...found]
    .filter(([path, size]) => size > (listed[path] ?? max))
    .map(([path, size]) => `${path}: ${size}, at most ${listed[path] ?? max}`);
}

/** Listed entries that are within the limit or were removed. */
function settled(
  found: ReadonlyMap<string, number>,
  max: number,
  listed: Readonly<Record<string, number>>,
): readonly string[] {
  return Object.keys(listed).filter((path) => (found.get(path) ?? 0) <= max);
}

const sources = new Map(
  written.filter((path) => !isTest(path)).map((path) => [path, linesOf(path)]),
);

/** The number of files per folder. */
function counted(paths: readonly string[]): ReadonlyMap<string, number> {
  const folders = new Map<string, number>();
  for (const path of paths) folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1);
  return folders;
}
const folders = counted(written.filter((path) => !isTestCase(path)));

describe('sizes', () => {
  it(`no source file has more than ${sourceLinesMax} lines, except listed ones`, () => {
    expect(grown(sources, sourceLinesMax, sizes.longerSources)).to.deep.equal([]);
  });

  it(`no test file has more than ${testLinesMax} lines`, () => {
    const tests = new Map(written.filter(isTest).map((path) => [path, linesOf(path)]));
    expect(grown(tests, testLinesMax, {})).to.deep.equal([]);
  });

  it(`no folder has more than ${folderFilesMax} source files beside its tests, except listed ones`, () => {
    expect(grown(folders, folderFilesMax, sizes.fullerFolders)).to.deep.equal([]);
  });

  it(`no folder has more than ${folderFilesMax} tests`, () => {
    expect(grown(counted(written.filter(isTestCase)), folderFilesMax, {})).to.deep.equal([]);
  });

  it('each listed exception still exceeds its limit', () => {
    expect(settled(sources, sourceLinesMax, sizes.longerSources)).to.deep.equal([]);
    expect(settled(folders, folderFilesMax, sizes.fullerFolders)).to.deep.equal([]);
  });

  it('the rules find grown, new and settled entries', () => {
    const found = new Map([
      ['old.ts', 12],
      ['new.ts', 11],
      ['small.ts', 10],
    ]);
    expect(grown(found, 10, { 'old.ts': 11 })).to.deep.equal([
      'old.ts: 12, at most 11',
      'new.ts: 11, at most 10',
    ]);
    expect(settled(found, 10, { 'old.ts': 12, 'small.ts': 12, 'gone.ts': 12 })).to.deep.equal([
      'small.ts',
      'gone.ts',
    ]);
  });

  it('STYLE.md has the same numbers', () => {
    const style = read('STYLE.md').replaceAll(/\s+/g, ' ');
    expect(style).to.contain(`at most ${sourceLinesMax} lines`);
    expect(style).to.contain(`a test at most ${testLinesMax}`);
    expect(style).to.contain(`at most ${folderFilesMax} source files`);
  });
});
