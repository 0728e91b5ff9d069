import {
  appendFile,
  copyFile,
  mkdtemp,
  open,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { positionAt } from './log-lines.js';
import { linesBetween, type RunStart } from './runs.js';

describe('the output of one run in a log that all runs share', () => {
  let folder: string;
  let file: string;
  let now: number;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-runs-'));
    file = join(folder, 'output.log');
    await writeFile(file, '');
    now = 1_000_000;
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function start(): Promise<RunStart> {
    now += 1_000;
    const handle = await open(file, 'r');
    try {
      return { position: await positionAt(handle, (await stat(file)).size), at: now * 1_000 };
    } finally {
      await handle.close();
    }
  }
  async function rotate(): Promise<void> {
    now += 1_000;
    for (const n of [2, 1]) await rename(`${file}.${n}`, `${file}.${n + 1}`).catch(() => undefined);
    await copyFile(file, `${file}.1`);
    await utimes(`${file}.1`, now, now);
    await truncate(file, 0);
  }
  async function between(from: RunStart | undefined, to: RunStart): Promise<string[]> {
    const lines: string[] = [];
    for await (const { content } of linesBetween(file, from, to)) lines.push(content);
    return lines;
  }

  it('is the output between its start and that of the next run', async () => {
    const first = await start();
    await appendFile(file, 'a\nb\n');
    const second = await start();
    await appendFile(file, 'c\nno end');
    const third = await start();
    await appendFile(file, 'd\n');
    expect(await between(first, second)).to.deep.equal(['a', 'b']);
    expect(await between(second, third)).to.deep.equal(['c', 'no end']);
    expect(await between(third, await start())).to.deep.equal(['d']);
  });

  it('is found in rotated files', async () => {
    const first = await start();
    await appendFile(file, 'a\n');
    await rotate();
    await appendFile(file, 'b\n');
    const second = await start();
    await appendFile(file, 'c\n');
    await rotate();
    await appendFile(file, 'd\n');
    expect(await between(first, second)).to.deep.equal(['a', 'b']);
    expect(await between(second, await start())).to.deep.equal(['c', 'd']);
  });

  it('ends with the file when the next run began right after a rotation', async () => {
    const first = await start();
    await appendFile(file, 'a\n');
    await rotate();
    const second = await start();
    await appendFile(file, 'b\n');
    expect(await between(first, second)).to.deep.equal(['a']);
    await rotate();
    expect(await between(first, second)).to.deep.equal(['a']);
  });

  it('is the remaining output if rotation removed the beginning, and empty if it removed all', async () => {
    const first = await start();
    await appendFile(file, 'a\n');
    await rotate();
    await appendFile(file, 'b\n');
    const second = await start();
    await appendFile(file, 'c\n');
    for (let n = 0; n < 3; n += 1) await rotate();
    expect(await between(first, second)).to.deep.equal(['b']);
    await appendFile(file, 'd\n');
    await rotate();
    expect(await between(first, second)).to.deep.equal([]);
  });

  it('of a run without a recorded start is all retained output before the next one', async () => {
    await appendFile(file, 'a\nb\n');
    const second = await start();
    await appendFile(file, 'c\n');
    expect(await between(undefined, second)).to.deep.equal(['a', 'b']);
  });
});
