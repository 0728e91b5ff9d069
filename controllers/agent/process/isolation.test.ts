import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { type Isolation, IsolationProbes } from './isolation.js';

const lacking: Isolation = { type: 'unavailable', message: 'no namespaces' };
const minuteMs = 60_000;

describe('the isolation of a host', () => {
  let clock: FakeClock;
  let found: Isolation;
  let count: number;
  let probes: IsolationProbes;

  beforeEach(() => {
    clock = new FakeClock();
    found = lacking;
    count = 0;
    probes = new IsolationProbes(clock, () => {
      count += 1;
      return Promise.resolve(found);
    });
  });

  it('that becomes available is found without a restart of kedged', async () => {
    expect(await probes.get()).to.equal(lacking);
    found = { type: 'root' };
    await clock.advance(5 * minuteMs);
    expect(await probes.get()).to.deep.equal({ type: 'root' });
  });

  it('is found within 5 minutes by callers that ask every 30 s, whenever it becomes available', async () => {
    // Until the interval has its maximum.
    for (let ask = 0; ask < 60; ask += 1) {
      await probes.get();
      await clock.advance(30_000);
    }
    const before = count;
    while (count === before) {
      await clock.advance(29_000);
      await probes.get();
    }
    // It becomes available immediately after a probe.
    found = { type: 'root' };
    const start = clock.now();
    while ((await probes.get()) === lacking) await clock.advance(30_000);
    expect(clock.now() - start).to.be.at.most(5 * minuteMs - 5_000);
  });

  it('is probed once for all callers, and not again while it is available', async () => {
    found = { type: 'user' };
    await Promise.all([probes.get(), probes.get()]);
    await clock.advance(60 * minuteMs);
    await probes.get();
    expect(count).to.equal(1);
  });

  it('that is unavailable is probed at increasing intervals up to 4 minutes, however often it is asked for', async () => {
    for (let second = 0; second < 3_600; second += 1) {
      await Promise.all([probes.get(), probes.get()]);
      await clock.advance(1_000);
    }
    // After 0, 5, 15, 35, 75, 155 and 315 s, then each 4 minutes.
    expect(count).to.be.within(19, 22);
    const before = count;
    await clock.advance(4 * minuteMs);
    await probes.get();
    expect(count).to.equal(before + 1);
  });
});
