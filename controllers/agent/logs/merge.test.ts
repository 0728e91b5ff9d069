import { expect } from 'chai';
import { merge } from './merge.js';

function collect(): void {
  if (!globalThis.gc) throw new Error('needs --expose-gc');
  globalThis.gc();
}

describe('merged sources', () => {
  const turn = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve);
    });

  async function* items(...all: readonly string[]): AsyncIterable<string> {
    for (const item of all) yield await Promise.resolve(item);
  }

  it('yield the items of all, in turns to a slow reader', async () => {
    const read: string[] = [];
    for await (const item of merge([items('a1', 'a2', 'a3'), items('b1'), items()])) {
      read.push(item);
      await turn();
    }
    expect(read.slice(0, 2)).to.have.members(['a1', 'b1']);
    expect(read).to.have.members(['a1', 'a2', 'a3', 'b1']);
    for await (const item of merge([])) read.push(String(item));
    expect(read).to.have.length(4);
  });

  it('pass the error of a source to a reader that is still busy with its last item', async () => {
    async function* failing(): AsyncIterable<string> {
      yield await Promise.resolve('last');
      throw new Error('the agent is busy');
    }
    const unhandled: unknown[] = [];
    const note = (error: unknown): number => unhandled.push(error);
    // Those of mocha would fail the run.
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
    let failure: unknown;
    try {
      for await (const item of merge([failing()])) {
        expect(item).to.equal('last');
        for (let turns = 0; turns < 5; turns += 1) await turn();
      }
    } catch (error) {
      failure = error;
    } finally {
      process.removeAllListeners('unhandledRejection');
      for (const other of others) process.on('unhandledRejection', other);
    }
    expect(String(failure)).to.contain('the agent is busy');
    expect(unhandled).to.deep.equal([]);
  });

  it('keep no item in memory while another source is silent', async () => {
    async function* large(): AsyncIterable<{ readonly data: Buffer }> {
      for (let n = 0; n < 100; n += 1) yield await Promise.resolve({ data: Buffer.alloc(1_024) });
    }
    const silent: AsyncIterable<never> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<never>>(() => undefined),
      }),
    };
    const read: WeakRef<object>[] = [];
    for await (const item of merge([large(), silent])) {
      read.push(new WeakRef(item));
      if (read.length < 100) continue;
      await turn();
      collect();
      break;
    }
    // The last ones may still be in use.
    expect(read.slice(0, 90).filter((item) => item.deref() !== undefined)).to.have.length(0);
  });
});
