import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { FakeClock } from 'kedge/testing';
import { StartBackoff } from './start-backoff.js';

describe('the backoff of starts', () => {
  const make = () => {
    const clock = new FakeClock();
    const gate = new StartBackoff(clock, seededRandom(1), { baseMs: 100, maxMs: 1_000, jitter: 0 });
    return { clock, gate };
  };

  it('holds a start for the backoff, however often it is asked, and longer with each failure', async () => {
    const { clock, gate } = make();
    expect(gate.failed('a', 'v1')).to.equal(100);
    expect(gate.leftMs('a', 'v1')).to.equal(100);
    await clock.advance(100);
    expect(gate.leftMs('a', 'v1')).to.equal(0);
    expect(gate.failed('a', 'v1')).to.equal(200);
    expect(gate.failed('a', 'v1', 5_000)).to.equal(5_000);
  });

  it('lets it be tried at once when what it depends on changes, and starts over when cleared', () => {
    const { gate } = make();
    gate.failed('a', 'v1');
    expect(gate.leftMs('a', 'v2')).to.equal(0);
    expect(gate.leftMs('b', 'v1')).to.equal(0);
    gate.clear('a');
    expect(gate.leftMs('a', 'v1')).to.equal(0);
    expect(gate.failed('a', 'v1')).to.equal(100);
  });
});
