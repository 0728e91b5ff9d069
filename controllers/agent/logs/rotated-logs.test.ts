import { appendFile, copyFile, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readLines } from './log-reader.js';

describe('a log with rotated files', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-log-'));
    file = join(folder, 'output.log');
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Rotates the log as the agent does; `late` is written between the copy and the truncation. */
  async function rotate(late = ''): Promise<void> {
    for (const n of [2, 1]) await rename(`${file}.${n}`, `${file}.${n + 1}`).catch(() => undefined);
    await copyFile(file, `${file}.1`);
    await appendFile(file, late);
    await truncate(file, 0);
  }
  const numbered = (from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_, at) => `line ${from + at}`);
  const write = (lines: readonly string[]): Promise<void> =>
    appendFile(file, lines.map((line) => `${line}\n`).join(''));

  /** Reads the log; `meanwhile` runs after each line. */
  async function read(
    options: { tail?: number; follow?: boolean; until?: string } = {},
    meanwhile?: (line: string, count: number) => Promise<void> | undefined,
  ): Promise<string[]> {
    const stop = new AbortController();
    const { tail = 0, follow = false, until } = options;
    const lines: string[] = [];
    for await (const { content } of readLines(file, { tail, follow, signal: stop.signal })) {
      lines.push(content);
      if (content === until) stop.abort();
      await meanwhile?.(content, lines.length);
    }
    return lines;
  }

  it('is read in the order of its lines', async () => {
    for (const from of [0, 100, 200]) {
      await write(numbered(from, from + 100));
      await rotate();
    }
    expect(await read()).to.deep.equal(numbered(0, 300));
    await write(['line 300']);
    expect(await read()).to.deep.equal(numbered(0, 301));
  });

  it('ends with the last lines of all files', async () => {
    await write(numbered(0, 20_000));
    await rotate();
    await write(numbered(20_000, 20_010));
    await rotate();
    await write(['line 20010']);
    for (const tail of [1, 2, 11, 12, 15_000, 20_011, 30_000])
      expect(await read({ tail }), `${tail}`).to.deep.equal(
        numbered(Math.max(0, 20_011 - tail), 20_011),
      );
  });

  for (const follow of [false, true])
    it(`loses nothing if it is rotated before a reader reaches its end, ${follow ? 'followed' : 'not followed'}`, async () => {
      await write(numbered(0, 20_000));
      const lines = await read({ follow, until: 'line 59999' }, async (_, count) => {
        if (count !== 1 && count !== 10_000) return;
        await rotate();
        await write(numbered(count === 1 ? 20_000 : 40_000, count === 1 ? 40_000 : 60_000));
      });
      expect(lines).to.deep.equal(numbered(0, 60_000));
    });

  it('loses nothing if it is rotated while its rotated files are read', async () => {
    await write(numbered(0, 100));
    await rotate();
    await write(numbered(100, 200));
    const lines = await read({}, async (_, count) => {
      if (count !== 50) return;
      await rotate();
      await write(numbered(200, 300));
    });
    expect(lines).to.deep.equal(numbered(0, 300));
  });

  it('reports output that was removed before a follower reached it', async () => {
    await write(numbered(0, 20_000));
    const lines = await read({ follow: true, until: 'line 20004' }, async (_, count) => {
      if (count !== 1) return;
      for (let at = 20_000; at < 20_005; at += 1) {
        await rotate();
        await write([`line ${at}`]);
      }
    });
    const lost = lines.findIndex((line) => line.startsWith('[kedge] '));
    expect(lines[lost]).to.match(/may be missing$/);
    expect(lines.slice(0, lost)).to.deep.equal(numbered(0, lost));
    expect(lines.slice(lost + 1)).to.deep.equal(numbered(20_001, 20_005));
  });

  it('is not repeated for a follower that read lines which the copy lacks', async () => {
    await writeFile(`${file}.1`, 'oldest\n');
    await write(['one', 'late']);
    const lines = await read({ follow: true, until: 'new' }, async (line) => {
      if (line !== 'late') return;
      await truncate(file, 'one\n'.length);
      await rotate('late\n');
      await write(['new']);
    });
    expect(lines).to.deep.equal(['oldest', 'one', 'late', 'new']);
  });
});
