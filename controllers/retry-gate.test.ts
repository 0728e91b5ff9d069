import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { FakeClock } from 'kedge/testing';
import { RetryGate } from './retry-gate.js';

describe('retry gate', () => {
  const make = () => {
    const clock = new FakeClock();
    const gate = new RetryGate(clock, seededRandom(1), { baseMs: 100, maxMs: 1_000, jitter: 0 });
    return { clock, gate };
  };

  it('stays closed for the backoff, however often it is asked, and longer with each failure', async () => {
    const { clock, gate } = make();
    expect(gate.failed('a', 'v1')).to.equal(100);
    expect(gate.leftMs('a', 'v1')).to.equal(100);
    await clock.advance(100);
    expect(gate.leftMs('a', 'v1')).to.equal(0);
    expect(gate.failed('a', 'v1')).to.equal(200);
    expect(gate.failed('a', 'v1', 5_000)).to.equal(5_000);
  });

  it('opens at once when the inputs change, and starts over when cleared', () => {
    const { gate } = make();
    gate.failed('a', 'v1');
    expect(gate.leftMs('a', 'v2')).to.equal(0);
    expect(gate.leftMs('b', 'v1')).to.equal(0);
    gate.clear('a');
    expect(gate.leftMs('a', 'v1')).to.equal(0);
    expect(gate.failed('a', 'v1')).to.equal(100);
  });
});
