import { expect } from 'chai';
import type { StatusError } from '../../base/index.js';
import { PacedWrites, WaitingBytes } from './paced-writes.js';

/** Takes everything and hands it on when it is told to. */
class Stalled {
  readonly waiting: (() => void)[] = [];

  write(_message: Buffer, written: () => void): void {
    this.waiting.push(written);
  }

  why: StatusError | undefined;

  cut(why: StatusError): void {
    this.why = why;
  }

  read(): void {
    this.waiting.shift()?.();
  }
}

/** Writes as long as there is room; tells how many were written. */
function flood(
  sink: Stalled,
  size: number,
  signal: AbortSignal,
  all = new WaitingBytes(),
): { written: number; over: Promise<void> } {
  const writes = new PacedWrites(sink, signal, all);
  const state = { written: 0, over: Promise.resolve() };
  state.over = (async () => {
    while (!signal.aborted && state.written < 100) {
      state.written += 1;
      await writes.write(Buffer.alloc(size));
    }
  })();
  return state;
}

const turns = async (): Promise<void> => {
  for (let n = 0; n < 200; n += 1) await Promise.resolve();
};

describe('a stream whose reader reads nothing', () => {
  it('keeps one large message waiting, and takes the next one when it is read', async () => {
    const end = new AbortController();
    const sink = new Stalled();
    const state = flood(sink, 200_000, end.signal);
    await turns();
    expect(state.written).to.equal(1);
    sink.read();
    await turns();
    expect(state.written).to.equal(2);
    end.abort();
    await state.over;
  });

  it('keeps a few small ones waiting', async () => {
    const end = new AbortController();
    const sink = new Stalled();
    const state = flood(sink, 1, end.signal);
    await turns();
    expect(state.written).to.equal(16);
    end.abort();
    await state.over;
  });

  it('holds up all who write to it, and lets all go on when it is read', async () => {
    const sink = new Stalled();
    const writes = new PacedWrites(sink, new AbortController().signal, new WaitingBytes());
    const done: string[] = [];
    for (const name of ['event', 'sign of life'])
      void writes.write(Buffer.alloc(100_000)).then(() => done.push(name));
    await turns();
    expect(writes.full).to.equal(true);
    expect(done).to.deep.equal([]);
    sink.read();
    sink.read();
    await turns();
    expect(writes.full).to.equal(false);
    expect(done).to.deep.equal(['event', 'sign of life']);
  });

  it('is cut when all together keep too much, the one that waits longest first', async () => {
    const end = new AbortController();
    const all = new WaitingBytes(500_000);
    const sinks = [new Stalled(), new Stalled(), new Stalled()];
    for (const sink of sinks) {
      flood(sink, 200_000, end.signal, all);
      await turns();
    }
    expect(sinks.map(({ why }) => why?.reason)).to.deep.equal(['SlowReader', undefined, undefined]);
    // What is written late to one that was cut counts no more.
    sinks[0]?.read();
    sinks[1]?.read();
    await turns();
    expect(sinks.map(({ why }) => why?.reason)).to.deep.equal(['SlowReader', undefined, undefined]);
    end.abort();
  });
});
