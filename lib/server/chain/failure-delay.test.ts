import { expect } from 'chai';
import { FakeClock, settle } from '../../testing/index.js';
import { FailureDelay } from './failure-delay.js';

const never = new AbortController().signal;

describe('answers to failures', () => {
  it('are delayed increasingly for one peer, not for others, and no longer after a while', async () => {
    const clock = new FakeClock();
    const delay = new FailureDelay(clock);
    const answered = async (peer: string, afterMs: number): Promise<boolean> => {
      let done = false;
      void delay.failed(peer, never).then(() => (done = true));
      await settle();
      if (afterMs > 0) {
        expect(done).to.equal(false);
        await clock.advance(afterMs);
        await settle();
      }
      return done;
    };
    for (let n = 0; n < 3; n += 1) expect(await answered('a', 0)).to.equal(true);
    expect(await answered('a', 100)).to.equal(true);
    expect(await answered('a', 200)).to.equal(true);
    expect(await answered('a', 400)).to.equal(true);
    expect(await answered('b', 0)).to.equal(true);
    for (let n = 0; n < 10; n += 1) expect(await answered('a', 5_000)).to.equal(true);
    await clock.advance(61_000);
    expect(await answered('a', 0)).to.equal(true);
  });
});
