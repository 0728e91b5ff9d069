import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';

interface Word {
  /** A regular expression, matched line by line. */
  readonly pattern: string;
  /** What to write instead. */
  readonly plain: string;
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { words, allowed } = JSON.parse(read('test/architecture/dialect.json')) as {
  readonly words: readonly Word[];
  /** Lines with a justified use of a word, by file. */
  readonly allowed: Readonly<Record<string, readonly string[]>>;
};

/** All sources and documents, except tests and generated files. */
const paths = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /\.(ts|mjs|cjs|sh|md)$/.test(path))
  .filter((path) => !/\.test\.ts$|(^|\/)gen\/|^test\//.test(path))
  .filter((path) => path !== 'STYLE.md');

/** The lines of a text that match the list, each with the plain words. */
function found(path: string, text: string): readonly string[] {
  const fine = allowed[path] ?? [];
  return text
    .split('\n')
    .flatMap((line, at) =>
      words
        .filter(({ pattern }) => new RegExp(pattern).test(line) && !fine.includes(line.trim()))
        .map(({ plain }) => `${path}:${at + 1}: ${line.trim()} (write: ${plain})`),
    );
}

describe('plain technical English', () => {
  it('is used in sources and documents: no line has a word of the list, except allowed ones', () => {
    const lines = paths.flatMap((path) => found(path, read(path)));
    expect(lines).to.deep.equal([]);
  });

  it('covers decisions, the changelog and the specification', () => {
    expect(paths).to.include.members([
      'CHANGELOG.md',
      'docs/decisions/README.md',
      'docs/specification.md',
    ]);
  });

  it('a line is reported once for each word of the list that it has', () => {
    expect(found('a.ts', '/** Whoever was left behind may fail in peace. */')).to.have.length(2);
    expect(found('a.ts', '/** Options of a store. */')).to.deep.equal([]);
  });

  it('each allowed line still exists', () => {
    for (const [path, lines] of Object.entries(allowed))
      expect(
        read(path)
          .split('\n')
          .map((line) => line.trim()),
      ).to.include.members([...lines]);
  });
});
