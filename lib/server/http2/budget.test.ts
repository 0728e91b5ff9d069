import { expect } from 'chai';
import { FakeClock } from '../../testing/index.js';
import { Budget } from './budget.js';
import { ConnectionError, errorCodes } from './frames.js';

describe('the budget of a connection', () => {
  let clock: FakeClock;
  let budget: Budget;
  beforeEach(() => {
    clock = new FakeClock();
    budget = new Budget(clock, 'things');
  });
  /** How many are allowed at once, of at most `most`. */
  const allowed = (most: number): number => {
    for (let n = 0; n < most; n += 1)
      try {
        budget.spend();
      } catch (error) {
        expect(error).to.be.instanceOf(ConnectionError);
        expect(error).to.include({ code: errorCodes.enhanceYourCalm, message: 'too many things' });
        return n;
      }
    return most;
  };

  it('allows a thousand at once', () => {
    expect(allowed(2_000)).to.equal(1_000);
    expect(allowed(1)).to.equal(0);
  });

  it('allows no more at once on a connection that is old', async () => {
    await clock.advance(1_000_000);
    expect(allowed(3_000)).to.equal(1_000);
  });

  it('allows 33 a second for any length of time', async () => {
    for (let second = 0; second < 200; second += 1) {
      await clock.advance(1_000);
      expect(allowed(33)).to.equal(33);
    }
  });

  it('grows by 33 a second, up to a thousand', async () => {
    expect(allowed(990)).to.equal(990);
    await clock.advance(10_000);
    expect(allowed(2_000)).to.be.within(330, 340);
    await clock.advance(1_000_000);
    expect(allowed(2_000)).to.equal(1_000);
  });

  it('allows further frames that answer something that the server sent, up to a limit', async () => {
    budget.allow(500);
    expect(allowed(2_000)).to.equal(1_500);
    for (let n = 0; n < 3_000; n += 1) budget.allow(10);
    expect(allowed(20_000)).to.equal(10_000);
    await clock.advance(1_000_000);
    expect(allowed(2_000), 'the rate is counted separately').to.equal(1_000);
  });

  it('adds up fractions', () => {
    for (let n = 0; n < 10; n += 1) budget.allow(0.25);
    expect(allowed(2_000)).to.equal(1_002);
    budget.allow(0.25);
    expect(allowed(1)).to.equal(0);
    budget.allow(0.25);
    expect(allowed(2)).to.equal(1);
  });
});
