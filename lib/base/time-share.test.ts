import { expect } from 'chai';
import { FakeClock } from '../testing/index.js';
import { TimeShare } from './time-share.js';

describe('TimeShare', () => {
  it('with a share of a quarter, rests three times as long as it worked since its last rest', async () => {
    const clock = new FakeClock();
    const share = new TimeShare(clock, 0.25, new AbortController().signal);
    for (const workedMs of [10, 4]) {
      await clock.advance(workedMs);
      let rested = false;
      const rest = share.rest().then(() => {
        rested = true;
      });
      await clock.advance(workedMs * 3 - 1);
      expect(rested).to.equal(false);
      await clock.advance(1);
      await rest;
    }
  });

  it('does not wait when no time has passed, nor once its signal aborts', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const share = new TimeShare(clock, 0.25, stop.signal);
    await share.rest();
    await clock.advance(10);
    const rest = share.rest();
    stop.abort();
    await rest;
  });
});
