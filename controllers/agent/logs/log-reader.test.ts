import {
  appendFile,
  copyFile,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { noteSize } from '../process/log-rotation.js';
import { logTimes } from './log-times.js';
import type { LogPosition, ReadLine } from './log-lines.js';
import { readLines } from './log-reader.js';

describe('log reader', () => {
  let folder: string;
  let file: string;
  const never = new AbortController().signal;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-log-'));
    file = join(folder, 'output.log');
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function all(tail: number): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of readLines(file, { tail, follow: false, signal: never }))
      lines.push(line.content);
    return lines;
  }

  it('returns all lines, or the last ones, also an unfinished one', async () => {
    await writeFile(file, 'one\ntwo\nthree\n');
    expect(await all(0)).to.deep.equal(['one', 'two', 'three']);
    expect(await all(2)).to.deep.equal(['two', 'three']);
    await appendFile(file, 'fo');
    expect(await all(2)).to.deep.equal(['three', 'fo']);
    expect(await all(10)).to.deep.equal(['one', 'two', 'three', 'fo']);
  });

  it('finds the tail over many chunks, and a missing file is no lines', async () => {
    await writeFile(file, Array.from({ length: 20_000 }, (_, n) => `line ${n}\n`).join(''));
    expect((await all(15_000))[0]).to.equal('line 5000');
    await rm(file);
    expect(await all(0)).to.deep.equal([]);
  });

  it('waits for a log that does not exist yet when it follows', async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const reading = (async () => {
      for await (const line of readLines(file, { tail: 0, follow: true, signal: stop.signal }))
        lines.push(line.content);
    })();
    await writeFile(file, 'first\n');
    await eventually('the line', () => lines.includes('first'));
    stop.abort();
    await reading;
  });

  it('follows new lines, and reads on from the start when the file was emptied', async () => {
    await writeFile(file, 'first line\n');
    const stop = new AbortController();
    const lines: string[] = [];
    const reading = (async () => {
      for await (const line of readLines(file, { tail: 0, follow: true, signal: stop.signal }))
        lines.push(line.content);
    })();
    await eventually('the first line', () => lines.length === 1);
    await appendFile(file, 'more\n');
    await eventually('the second line', () => lines.length === 2);
    await truncate(file, 0);
    await appendFile(file, 'new\n');
    await eventually('the line after rotation', () => lines.includes('new'));
    stop.abort();
    await reading;
  });

  it('never follows a link, and opens nothing but files', async () => {
    const other = join(folder, 'other');
    await writeFile(other, 'key\n');
    await symlink(other, file);
    const error = await read().catch((e: unknown) => e);
    expect(error).to.have.property('code', 'ELOOP');
    await rm(file);
    await writeFile(file, 'line\n');
    await symlink(other, logTimes(file));
    const noted = await noteSize(file, 1).catch((e: unknown) => e);
    expect(noted).to.have.property('code', 'ELOOP');
    expect(await readFile(other, 'utf8')).to.equal('key\n');
  });

  async function read(
    options: { tail?: number; after?: LogPosition; since?: number } = {},
  ): Promise<ReadLine[]> {
    const { signal } = new AbortController();
    const lines: ReadLine[] = [];
    for await (const line of readLines(file, { tail: 0, follow: false, signal, ...options }))
      lines.push(line);
    return lines;
  }
  const contents = (lines: readonly ReadLine[]) => lines.map((line) => line.content);
  async function rotate(): Promise<void> {
    for (const n of [2, 1]) await rename(`${file}.${n}`, `${file}.${n + 1}`).catch(() => undefined);
    await copyFile(file, `${file}.1`);
    await truncate(file, 0);
    await rm(logTimes(file), { force: true });
  }

  it('returns complete lines, only the last ones on request, and an unfinished line at the end', async () => {
    await writeFile(file, 'a\nb\n\nä€\nrest');
    expect(contents(await read())).to.deep.equal(['a', 'b', '', 'ä€', 'rest']);
    expect(contents(await read({ tail: 2 }))).to.deep.equal(['ä€', 'rest']);
  });

  it('continues after the position of any line', async () => {
    await writeFile(file, Array.from({ length: 50 }, (_, n) => `line ${n}\n`).join(''));
    const lines = await read();
    for (const at of [0, 7, 49]) {
      const after = lines[at]!.position;
      expect(contents(await read({ after }))).to.deep.equal(contents(lines.slice(at + 1)));
    }
  });

  it('finds a position again after a rotation, and reads later lines', async () => {
    await writeFile(file, 'one\ntwo\n');
    const after = (await read())[0]!.position;
    await rotate();
    await appendFile(file, 'three\n');
    await rotate();
    await appendFile(file, 'four\n');
    expect(contents(await read({ after }))).to.deep.equal(['two', 'three', 'four']);
  });

  it('reports lost output and reads all kept lines if the position no longer exists', async () => {
    await writeFile(file, 'kept\n');
    await rotate();
    await appendFile(file, 'new\n');
    const after = { offset: 3, check: 1 };
    const [lost = '', ...rest] = contents(await read({ after }));
    expect(lost).to.match(/^\[kedge\] .* may be missing$/);
    expect(rest).to.deep.equal(['kept', 'new']);
  });

  it('begins at the last note before a time, including rotated files since then', async () => {
    await writeFile(file, 'old\n');
    await noteSize(file, 1_000);
    await appendFile(file, 'new\n');
    await noteSize(file, 2_000);
    await appendFile(file, 'newest\n');
    const since = async (time: number) => contents(await read({ since: time }));
    expect(await since(500)).to.deep.equal(['old', 'new', 'newest']);
    expect(await since(1_500)).to.deep.equal(['new', 'newest']);
    expect(await since(9_000)).to.deep.equal(['newest']);
    await rotate();
    await appendFile(file, 'after\n');
    expect((await since(1_500)).at(-1)).to.equal('after');
    expect(contents(await read({ since: 1_500, tail: 1 }))).to.deep.equal(['after']);
  });

  it('splits a line without an end between characters', async () => {
    await writeFile(file, '€'.repeat(40_000));
    const lines = contents(await read());
    expect(lines.length).to.equal(2);
    expect(lines.join('')).to.equal('€'.repeat(40_000));
  });
});
