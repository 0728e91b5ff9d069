import { expect } from 'chai';
import type { StatusError } from '../../base/index.js';
import { PacedWrites, WaitingBytes } from './paced-writes.js';

/** A sink that buffers everything and delivers it on request. */
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

/** Writes while the sink is not full; returns the number of writes. */
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

describe('a stream that is not read', () => {
  it('buffers one large message, and accepts the next one when it was read', async () => {
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

  it('buffers a few small ones', async () => {
    const end = new AbortController();
    const sink = new Stalled();
    const state = flood(sink, 1, end.signal);
    await turns();
    expect(state.written).to.equal(16);
    end.abort();
    await state.over;
  });

  it('blocks all its writers, and releases all when it is read', async () => {
    const sink = new Stalled();
    const writes = new PacedWrites(sink, new AbortController().signal, new WaitingBytes());
    const done: string[] = [];
    for (const name of ['event', 'heartbeat'])
      void writes.write(Buffer.alloc(100_000)).then(() => done.push(name));
    await turns();
    expect(writes.full).to.equal(true);
    expect(done).to.deep.equal([]);
    sink.read();
    sink.read();
    await turns();
    expect(writes.full).to.equal(false);
    expect(done).to.deep.equal(['event', 'heartbeat']);
  });

  it('is cut if all together buffer too much, starting with the one that waits longest', async () => {
    const end = new AbortController();
    const all = new WaitingBytes(500_000);
    const sinks = [new Stalled(), new Stalled(), new Stalled()];
    for (const sink of sinks) {
      flood(sink, 200_000, end.signal, all);
      await turns();
    }
    expect(sinks.map(({ why }) => why?.reason)).to.deep.equal(['SlowReader', undefined, undefined]);
    // Late writes to a cut stream no longer count.
    sinks[0]?.read();
    sinks[1]?.read();
    await turns();
    expect(sinks.map(({ why }) => why?.reason)).to.deep.equal(['SlowReader', undefined, undefined]);
    end.abort();
  });
});
