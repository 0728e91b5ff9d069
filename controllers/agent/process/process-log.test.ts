import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { noteSize } from './log-rotation.js';
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
});
