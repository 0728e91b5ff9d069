import { expect } from 'chai';
import { type Random, seededRandom, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { FakeEngine, frame } from '../../testing/fake-engine.js';
import type { LogCursor, LogLine } from '../runtime/log.js';
import { readContainerLog } from './container-log.js';
import { EngineClient } from './engine/engine-client.js';

/** A stored frame: its time in nanoseconds, and its line. */
interface Stored {
  readonly at: number;
  readonly line: string;
  /** Whether the line continues in the next frame of its stream, which is at the same time. */
  readonly continues?: boolean;
  /** Default: by the beginning of the line. */
  readonly stream?: 1 | 2;
}

const second = 1_000_000_000;

describe('the position of a line of a container', () => {
  let engine: FakeEngine;
  let stored: readonly Stored[];

  beforeEach(async () => {
    engine = await FakeEngine.start();
    engine.answer = ({ url = '' }, response) => {
      const query = new URL(url, 'http://engine').searchParams;
      const [whole = '0', fraction = ''] = (query.get('since') ?? '0').split('.');
      const since = Number(whole) * second + Number(fraction.padEnd(9, '0'));
      response.writeHead(200);
      for (const { at, line, continues, stream = line.startsWith('err') ? 2 : 1 } of stored) {
        if (at < since) continue;
        const day = new Date(Math.floor(at / second) * 1_000).toISOString().slice(0, -5);
        const time = `${day}.${String(at % second).padStart(9, '0')}Z`;
        response.write(frame(stream, `${time} ${line}${continues ? '' : '\n'}`));
      }
      response.end();
    };
  });
  afterEach(() => engine.stop());

  async function read(after?: LogCursor): Promise<LogLine[]> {
    const { containers } = new EngineClient({ socketPath: engine.socketPath, clock: systemClock });
    const { signal } = new AbortController();
    const lines: LogLine[] = [];
    const options = {
      containers,
      runs: () => Promise.resolve([{ run: 1, container: 'c' }]),
      lost: () => Promise.resolve(undefined),
      nextRun: () => Promise.resolve(),
    };
    const request = { tail: 0, follow: false, signal, after };
    for await (const line of readContainerLog(options, request)) lines.push(line);
    return lines;
  }
  const contents = (lines: readonly LogLine[]): readonly string[] =>
    lines.map(({ content }) => content);

  /** Frames in the order of the engine: some have the time of the one before, some an earlier one. */
  function disordered(random: Random, count: number): Stored[] {
    let at = 1_000 * second;
    return Array.from({ length: count }, (_, n) => {
      const step = random.next();
      if (step < 0.3) at += 0;
      else if (step < 0.5) at -= Math.floor(random.next() * 1_000);
      else if (step < 0.9) at += Math.floor(random.next() * 2_000);
      else at += 2 * second;
      return { at, line: `${random.next() < 0.5 ? 'out' : 'err'} ${n}` };
    });
  }

  for (const seed of [1, 2, 3])
    it(`is resumed without a gap or a repetition, also where the engine stored times in disorder (seed ${seed})`, async () => {
      stored = disordered(seededRandom(seed), 60);
      const lines = await read();
      expect(contents(lines)).to.deep.equal(stored.map(({ line }) => line));
      for (const [at, { cursor, content }] of lines.entries())
        expect(contents(await read(cursor)), `after ${content}`).to.deep.equal(
          contents(lines.slice(at + 1)),
        );
    });

  it('is resumed without a gap or a repetition among the parts of long lines of both streams', async () => {
    const part = (at: number, line: string, stream: 1 | 2): Stored => ({
      ...{ at: 1_000 * second + at, line, stream, continues: !line.endsWith('.') },
    });
    stored = [
      ...[part(0, 'before.', 1), part(1, 'a', 1), part(2, 'x', 2), part(1, 'b', 1)],
      ...[part(2, 'y.', 2), part(1, 'c.', 1), part(4, 'd', 1), part(5, 'z.', 2)],
      ...[part(4, 'e'.repeat(70_000), 1), part(6, 'w.', 2), part(4, 'f.', 1), part(7, 'end', 1)],
    ];
    const lines = await read();
    expect(contents(lines).map((content) => content.replace(/e+/, 'e'))).to.deep.equal([
      ...['before.', 'xy.', 'abc.', 'z.', 'de', 'w.', 'ef.', 'end'],
    ]);
    for (const [at, { cursor, content }] of lines.entries())
      expect(contents(await read(cursor)), `after ${content.slice(0, 10)}`).to.deep.equal(
        contents(lines.slice(at + 1)),
      );
  });

  it('of a line that the engine no longer keeps is before a line that says so, and the first later line', async () => {
    stored = [0, 1, 2].map((n) => ({ at: 1_000 * second + n, line: `out ${n}` }));
    const [, { cursor } = { cursor: [] }] = await read();
    stored = stored.slice(2);
    expect(contents(await read(cursor))).to.deep.equal([
      '[kedge] the engine removed output before it was read; output before this line is missing',
      'out 2',
    ]);
  });
});

describe('a follower of a container that wrote more within a second than is read ahead', () => {
  it('waits for further output on one stream of the engine', async () => {
    const engine = await FakeEngine.start();
    const left = new AbortController();
    try {
      const day = '2026-01-01T00:00:00';
      const lines = Array.from({ length: 30_000 }, (_, n) =>
        frame(1, `${day}.${String(n).padStart(9, '0')}Z line ${n}\n`),
      );
      const burst = Buffer.concat(lines);
      let follows = 0;
      let write: (text: string) => void = () => undefined;
      engine.answer = ({ url = '' }, response) => {
        response.writeHead(200);
        response.write(burst);
        if (new URL(url, 'http://engine').searchParams.get('follow') !== 'true')
          return void response.end();
        follows += 1;
        write = (text) => void response.write(frame(1, text));
      };
      const { socketPath } = engine;
      const { containers } = new EngineClient({ socketPath, clock: systemClock });
      const options = {
        containers,
        runs: () => Promise.resolve([{ run: 1, container: 'c' }]),
        lost: () => Promise.resolve(undefined),
        nextRun: () => Promise.resolve(),
      };
      const request = { tail: 0, follow: true, signal: left.signal };
      let last = '';
      let count = 0;
      const reading = (async () => {
        for await (const { content } of readContainerLog(options, request)) {
          last = content;
          count += 1;
        }
      })();
      await eventually('the stream', () => follows > 0);
      write(`${day}.900000000Z later\n`);
      await eventually('the later line', () => last === 'later');
      expect({ follows, count }).to.deep.equal({ follows: 1, count: 30_001 });
      left.abort();
      await reading;
    } finally {
      left.abort();
      await engine.stop();
    }
  });
});
