import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { EngineOutages } from './engine-outages.js';

describe('the end of a container', () => {
  it('is that of an engine without live-restore from shortly before its outage to its end', async () => {
    const clock = new FakeClock();
    const outages = new EngineOutages(clock);
    outages.connected(false);
    await clock.advance(60_000);
    const from = clock.now();
    expect(outages.endedByEngine(from)).to.equal(false);
    outages.lost();
    await clock.advance(10_000);
    outages.lost();
    expect(outages.endedByEngine(clock.now()), 'while it is away').to.equal(true);
    outages.connected(false);
    const to = clock.now();
    await clock.advance(10_000);
    outages.connected(false);
    const ends = [from - 5_000, from - 1_000, from, to, to + 1_000, clock.now()];
    expect(ends.map((at) => outages.endedByEngine(at))).to.deep.equal([
      ...[false, true, true, true],
      ...[false, false],
    ]);
  });

  it('is its own if the engine has live-restore', async () => {
    const clock = new FakeClock();
    const outages = new EngineOutages(clock);
    outages.connected(true);
    outages.lost();
    await clock.advance(10_000);
    outages.connected(true);
    expect(outages.endedByEngine(clock.now() - 5_000)).to.equal(false);
  });
});
