import { expect } from 'chai';
import { type Random, seededRandom, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { FakeEngine, frame, json } from '../../testing/fake-engine.js';
import type { LogCursor, LogLine } from '../runtime/log.js';
import { readContainerLog } from './container-log.js';
import { readEndedRun } from './logs/run-log.js';
import { EngineOutages } from './outages/engine-outages.js';
import { EngineClient } from './engine/engine-client.js';
import { StartRefusals } from './start-refusal.js';

/** A stored frame: its time in nanoseconds, and its line. */
interface Stored {
  readonly at: number;
  readonly line: string;
  /** Whether the engine stored it without a line break, because it is a part of a line. */
  readonly isPart?: boolean;
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
      for (const { at, line, isPart, stream = line.startsWith('err') ? 2 : 1 } of stored) {
        if (at < since) continue;
        const day = new Date(Math.floor(at / second) * 1_000).toISOString().slice(0, -5);
        const time = `${day}.${String(at % second).padStart(9, '0')}Z`;
        response.write(frame(stream, `${time} ${line}${isPart ? '' : '\n'}`));
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

  /** The parts in which the engine stores a line that is written at one time. */
  function partsOf(at: number, line: string, stream: 1 | 2, lastHasBreak: boolean): Stored[] {
    const size = 16 * 1024;
    const parts: Stored[] = [];
    for (let from = 0; from <= line.length; from += size)
      parts.push({
        ...{ at: 1_000 * second + at, line: line.slice(from, from + size), stream },
        isPart: from + size <= line.length || (line.length >= size && !lastHasBreak),
      });
    return parts;
  }

  for (const lastHasBreak of [true, false])
    it(`is resumed without a gap or a repetition among the parts of long lines of both streams (${lastHasBreak ? 'with' : 'without'} a line break after the last one)`, async () => {
      const a = 'a'.repeat(40_000);
      const b = 'b'.repeat(20_000);
      const c = 'c'.repeat(2 * 16 * 1024);
      const d = 'd'.repeat(90_000);
      const out = partsOf(1, a, 1, lastHasBreak);
      const other = partsOf(2, b, 2, lastHasBreak);
      const exact = partsOf(4, c, 2, lastHasBreak);
      const longest = partsOf(5, d, 1, lastHasBreak);
      stored = [
        ...[...partsOf(0, 'before', 1, true), ...out.slice(0, 1), ...other.slice(0, 1)],
        ...[...out.slice(1, 2), ...other.slice(1), ...partsOf(3, 'e', 2, true), ...out.slice(2)],
        ...[...longest.slice(0, 2), ...exact.slice(0, 2), ...longest.slice(2), ...exact.slice(2)],
        ...[...partsOf(6, '', 1, true), ...partsOf(7, 'last', 2, true)],
      ];
      const lines = await read();
      expect(contents(lines)).to.deep.equal([
        ...['before', b, 'e', a, d.slice(0, 65_536), d.slice(65_536), c, '', 'last'],
      ]);
      for (const [at, { cursor, content }] of lines.entries())
        expect(contents(await read(cursor)), `after ${at} ${content.slice(0, 10)}`).to.deep.equal(
          contents(lines.slice(at + 1)),
        );
    });

  it('is resumed without a gap or a repetition after the clock was set back', async () => {
    const times = [100, 100.5, 103, 104, 50, 50.5, 52, 101, 104, 104, 105];
    stored = times.map((at, n) => ({
      at: at * second,
      line: `${n % 2 === 0 ? 'out' : 'err'} ${n}`,
    }));
    const lines = await read();
    expect(lines).to.have.length(times.length);
    const setBack = times.indexOf(50);
    for (const [at, { cursor, content }] of lines.entries())
      if (at >= setBack)
        expect(contents(await read(cursor)), `after ${content}`).to.deep.equal(
          contents(lines.slice(at + 1)),
        );
  });

  it('of a line that the engine no longer keeps is before a line about the removed output, and the first later line', async () => {
    stored = [0, 1, 2].map((n) => ({ at: 1_000 * second + n, line: `out ${n}` }));
    const [, { cursor } = { cursor: [] }] = await read();
    stored = stored.slice(2);
    expect(contents(await read(cursor))).to.deep.equal([
      '[kedge] the engine removed output before it was read; output before this line is missing',
      'out 2',
    ]);
  });
});

describe('the log of a workload with one run that the engine can not read', () => {
  let engine: FakeEngine;
  /** The end of the answers for run 1: an error in the stream, or a status. */
  let ending: 'damaged' | 404 | 409 | 500;
  const damage = 'Error grabbing logs: unexpected number of bytes read';
  const options = () => ({
    containers: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }).containers,
    runs: () => Promise.resolve([1, 2].map((run) => ({ run, container: `c${run}` }))),
    lost: () => Promise.resolve(undefined),
    nextRun: () => Promise.resolve(),
  });
  const line = (n: number): Buffer => frame(1, `2026-01-01T00:00:0${n}.000000000Z line ${n}\n`);

  beforeEach(async () => {
    engine = await FakeEngine.start();
    engine.answer = ({ url = '' }, response) => {
      if (url.endsWith('/json')) return void json(response, 404, { message: 'removed' });
      if (url.includes('/c2/')) {
        response.writeHead(200);
        return void response.end(line(2));
      }
      if (ending !== 'damaged') return void json(response, ending, { message: damage });
      response.writeHead(200);
      response.write(line(1));
      response.end(frame(3, damage));
    };
  });
  afterEach(() => engine.stop());

  const marker = `[kedge] the engine can't read the rest of the output of run 1: ${damage}; the next run has a log of its own`;
  const expected = {
    damaged: ['line 1', marker, 'line 2'],
    500: [marker, 'line 2'],
    404: ['line 2'],
    409: ['line 2'],
  };
  for (const [how, lines] of Object.entries(expected))
    it(`has the output of the others, and a line about it (${how})`, async () => {
      ending = how === 'damaged' ? how : (Number(how) as 404);
      const { signal } = new AbortController();
      for (const tail of [0, 10]) {
        const found: string[] = [];
        for await (const { content } of readContainerLog(options(), {
          tail,
          follow: false,
          signal,
        }))
          found.push(content);
        expect(found, `tail ${tail}`).to.deep.equal(lines);
      }
    });

  it('is followed to the next run after one line about it', async () => {
    ending = 'damaged';
    const left = new AbortController();
    const { signal } = left;
    const found: string[] = [];
    let passes = 0;
    const following = {
      ...options(),
      runs: () => {
        passes += 1;
        if (passes > 20) left.abort();
        const runs = passes < 4 ? [1] : [1, 2];
        return Promise.resolve(runs.map((run) => ({ run, container: `c${run}` })));
      },
    };
    for await (const { content } of readContainerLog(following, {
      tail: 0,
      follow: true,
      signal,
    })) {
      found.push(content);
      if (content === 'line 2') left.abort();
    }
    expect(found).to.deep.equal(expected.damaged);
    expect(passes).to.be.greaterThan(3);
  });

  it('does not hide the end of the run, whose last line may be the error of its command', async () => {
    const { signal } = new AbortController();
    for (const how of ['damaged', 500] as const) {
      ending = how;
      const refusals = new StartRefusals(options().containers, signal);
      const end = { container: 'c1', run: 1, exitCode: 127 };
      expect(await refusals.of(end), String(how)).to.equal(undefined);
    }
  });

  it('of the previous run has that line too', async () => {
    ending = 'damaged';
    const { signal } = new AbortController();
    const found: string[] = [];
    const run = { run: 1, container: 'c1' };
    const sources = { ...options(), outages: new EngineOutages(systemClock) };
    for await (const { content } of readEndedRun(sources, run, signal)) found.push(content);
    expect(found).to.deep.equal(['line 1', marker]);
  });
});

describe('a follower of a container', () => {
  let engine: FakeEngine;
  let left: AbortController;
  let kept: readonly Buffer[];
  let follows: number;
  /** Writes into the last followed stream; `kept` is not changed. */
  let write: (...frames: readonly Buffer[]) => void;
  let found: string[];
  let reading: Promise<void>;

  beforeEach(async () => {
    engine = await FakeEngine.start();
    left = new AbortController();
    follows = 0;
    found = [];
    engine.answer = ({ url = '' }, response) => {
      response.writeHead(200);
      response.write(Buffer.concat(kept));
      const isFollowed = new URL(url, 'http://engine').searchParams.get('follow') === 'true';
      if (!isFollowed) return void response.end();
      follows += 1;
      write = (...frames) => void response.write(Buffer.concat(frames));
    };
  });
  afterEach(async () => {
    left.abort();
    await reading;
    await engine.stop();
  });

  function follow(): void {
    const options = {
      containers: new EngineClient({ socketPath: engine.socketPath, clock: systemClock })
        .containers,
      runs: () => Promise.resolve([{ run: 1, container: 'c' }]),
      lost: () => Promise.resolve(undefined),
      nextRun: () => Promise.resolve(),
    };
    const request = { tail: 0, follow: true, signal: left.signal };
    reading = (async () => {
      for await (const { content } of readContainerLog(options, request)) found.push(content);
    })();
  }
  const line = (at: number, n: number, stream = 1): Buffer =>
    frame(stream, `2026-01-01T00:00:${String(at).padStart(2, '0')}.5Z line ${n}\n`);
  const lines = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, n) => `line ${n}`);

  it('whose clock was set back has each line once, and no line about removed output', async () => {
    kept = [40, 42, 45, 10, 11, 13, 41].map((at, n) => line(at, n));
    follow();
    // The first stream ends where the times are not enough.
    await eventually('the second stream', () => follows === 2);
    write(line(14, 7));
    await eventually('the new line', () => found.includes('line 7'));
    expect(found).to.deep.equal(lines(8));
  });

  it('to which the engine sends frames twice has each line once', async () => {
    kept = [line(1, 0), line(2, 1, 2)];
    follow();
    await eventually('the stream', () => follows === 1);
    const next = [line(3, 2), line(4, 3, 2), line(5, 4)];
    write(...next);
    await eventually('the lines', () => found.length === 5);
    kept = [...kept, ...next, line(6, 5, 2)];
    write(...next, line(6, 5, 2));
    await eventually('another stream', () => follows === 2);
    write(line(7, 6));
    await eventually('the last line', () => found.includes('line 6'));
    expect(found).to.deep.equal(lines(7));
  });

  it('to which the engine sends the last frame twice has its line once, and a line of several parts completely', async () => {
    kept = [line(1, 0)];
    follow();
    await eventually('the stream', () => follows === 1);
    const part = frame(1, `2026-01-01T00:00:02.5Z ${'p'.repeat(16 * 1024)}`);
    const last = frame(1, '2026-01-01T00:00:02.5Z q');
    kept = [...kept, part, part, last];
    write(part, part, last);
    await eventually('the long line', () => found.length === 2);
    expect(follows, 'parts of a line are not taken for sent twice').to.equal(1);
    write(last);
    await eventually('another stream', () => follows === 2);
    write(line(3, 1));
    await eventually('the last line', () => found.includes('line 1'));
    expect(found).to.deep.equal(['line 0', `${'p'.repeat(32 * 1024)}q`, 'line 1']);
  });
});

describe('a follower of a container with more output within a second than is read ahead', () => {
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
