import { expect } from 'chai';
import { DriverError } from '../errors/errors.js';
import { KeyedQueue } from './keyed-queue.js';

describe('work by key', () => {
  it('is sequential per key, parallel for different keys, and continues after a failure', async () => {
    const work = new KeyedQueue();
    const log: string[] = [];
    let release: () => void = () => undefined;
    const slow = work.run('a', async () => {
      log.push('a1');
      await new Promise<void>((resolve) => (release = resolve));
      throw new Error('a1 failed');
    });
    const failed = slow.catch(String);
    const second = work.run('a', async () => void log.push('a2'));
    await work.run('b', async () => void log.push('b1'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).to.deep.equal(['a1', 'b1']);
    release();
    await second;
    expect(await failed).to.equal('Error: a1 failed');
    expect(log).to.deep.equal(['a1', 'b1', 'a2']);
    await new Promise((resolve) => setImmediate(resolve));
    expect(work.size, 'nothing is kept').to.equal(0);
  });

  it('rejects a call at once that is aborted before its turn, and never runs its work', async () => {
    const work = new KeyedQueue();
    let release: () => void = () => undefined;
    const slow = work.run('a', () => new Promise<void>((resolve) => (release = resolve)));
    const limit = new AbortController();
    let ran = false;
    const late = work.run('a', () => Promise.resolve((ran = true)), limit.signal);
    limit.abort();
    const error: unknown = await late.catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(DriverError).with.property('kind', 'Unavailable');
    release();
    await slow;
    await work.run('a', () => Promise.resolve());
    expect(ran).to.equal(false);
  });
});
