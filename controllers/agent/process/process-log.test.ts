import { truncateSync, watch } from 'node:fs';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { noteSize, rotate } from './log-rotation.js';
import { readProcessLog } from './process-log.js';

describe('the log of a process', () => {
  let folder: string;
  let file: string;
  const clock = new FakeClock();
  const at = (ms: number): string => new Date(ms).toISOString();

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-log-'));
    file = join(folder, 'output.log');
    await writeFile(file, '');
    for (const [ms, text] of [
      [1_000, 'one\n'],
      [2_000, 'two\nthree\n'],
      [3_000, 'four\n'],
    ] as const) {
      await appendFile(file, text);
      await noteSize(file, ms);
    }
    await appendFile(file, 'five\n');
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function read(more: { until?: number } = {}): Promise<string[]> {
    const { signal } = new AbortController();
    const lines: string[] = [];
    const request = { tail: 0, follow: false, signal, ...more };
    for await (const { content, time } of readProcessLog(file, request, { clock, probeMs: 10 }))
      lines.push(`${time} ${content}`);
    return lines;
  }

  it('has the latest time of each line: that of the next measurement, or now', async () => {
    expect(await read()).to.deep.equal([
      `${at(1_000)} one`,
      `${at(2_000)} two`,
      `${at(2_000)} three`,
      `${at(3_000)} four`,
      `${at(clock.now())} five`,
    ]);
  });

  it('is read until a time with the lines that may have been written by then', async () => {
    const until = async (ms: number): Promise<string[]> =>
      (await read({ until: ms })).map((line) => line.split(' ')[1] ?? '');
    expect(await until(500)).to.deep.equal(['one']);
    expect(await until(1_500)).to.deep.equal(['one', 'two', 'three']);
    expect(await until(2_999)).to.deep.equal(['one', 'two', 'three', 'four']);
  });

  it('keeps its content and its rotated files, and has no incomplete one, if it could not be copied', async () => {
    await truncate(file, 10 * 1024 * 1024 + 1);
    const rotated = [1, 2, 3].map((n) => `${file}.${n}`);
    for (const path of rotated) await writeFile(path, path);
    await mkdir(`${file}.copy`);
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect(await rotate(file).catch((e: unknown) => e)).to.be.an('error');
    expect((await stat(file)).size).to.equal(10 * 1024 * 1024 + 1);
    for (const path of rotated) expect(await readFile(path, 'utf8')).to.equal(path);
    await rm(`${file}.copy`, { recursive: true });
    await rotate(file);
    expect(await readFile(`${file}.2`, 'utf8')).to.equal(`${file}.1`);
    expect(await readFile(`${file}.3`, 'utf8')).to.equal(`${file}.2`);
    expect((await readdir(folder)).toSorted()).to.deep.equal(
      ['', '.1', '.2', '.3'].map((suffix) => `output.log${suffix}`),
    );
    expect((await stat(file)).size).to.equal(0);
  });

  it('is copied to a size that is known before, however fast its workload writes', async () => {
    const mib = 1024 * 1024;
    await truncate(file, 64 * mib);
    const watcher = watch(folder, (_event, name) => {
      if (name !== 'output.log.copy') return;
      watcher.close();
      truncateSync(file, 512 * mib);
    });
    await rotate(file);
    expect((await stat(`${file}.1`)).size).to.be.within(64 * mib, 74 * mib);
    expect((await stat(file)).size).to.equal(0);
  });

  it('is read until a time without the rotated files that began later', async () => {
    for (const [n, seconds] of [
      [3, 10],
      [2, 20],
      [1, 30],
    ] as const) {
      await writeFile(`${file}.${n}`, `file${n}\n`);
      await utimes(`${file}.${n}`, seconds, seconds);
    }
    const until = async (ms: number): Promise<string[]> =>
      (await read({ until: ms })).map((line) => line.split(' ')[1] ?? '');
    expect(await until(5_000)).to.deep.equal(['file3']);
    expect(await until(15_000)).to.deep.equal(['file3', 'file2']);
  });
});
