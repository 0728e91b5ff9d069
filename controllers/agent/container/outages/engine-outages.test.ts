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
    const ended = (exitedAt: number): boolean =>
      outages.endedByEngine({ startedAt: 0, exitedAt, exitCode: 0 });
    expect(ended(from)).to.equal(false);
    outages.lost();
    await clock.advance(10_000);
    outages.lost();
    expect(ended(clock.now()), 'while it is away').to.equal(true);
    outages.connected(false);
    const to = clock.now();
    await clock.advance(10_000);
    outages.connected(false);
    const ends = [from - 5_000, from - 1_000, from, to, to + 1_000, clock.now()];
    expect(ends.map(ended)).to.deep.equal([...[false, true, true, true], ...[false, false]]);
  });

  it('is its own if the engine has live-restore, unless the engine was stopped while it started the container', async () => {
    const clock = new FakeClock();
    const outages = new EngineOutages(clock);
    outages.connected(true);
    await clock.advance(60_000);
    const from = clock.now();
    outages.lost();
    await clock.advance(10_000);
    outages.connected(true);
    const ended = (startedAt: number, exitedAt: number, exitCode: number): boolean =>
      outages.endedByEngine({ startedAt: from + startedAt, exitedAt: from + exitedAt, exitCode });
    expect(ended(-500, -100, 143)).to.equal(true);
    expect(ended(-12_000, -1_000, 137)).to.equal(true);
    expect(ended(-500, -100, 1), 'its own exit code').to.equal(false);
    expect(ended(-60_000, -100, 143), 'it ran before the stop').to.equal(false);
    expect(ended(11_000, 12_000, 143), 'after the outage').to.equal(false);
  });
});
