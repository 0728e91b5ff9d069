import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { KeyedWork } from './keyed-work.js';

describe('work by key', () => {
  it('runs one after the other for a key, side by side for others, and goes on after a failure', async () => {
    const work = new KeyedWork();
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
    await settle();
    expect(log).to.deep.equal(['a1', 'b1']);
    release();
    await second;
    expect(await failed).to.equal('Error: a1 failed');
    expect(log).to.deep.equal(['a1', 'b1', 'a2']);
    await settle();
    expect(work.size, 'nothing is kept').to.equal(0);
  });
});
