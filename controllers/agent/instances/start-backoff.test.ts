import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { FakeClock } from 'kedge/testing';
import type { Instance, InstanceBackoff } from '../../instance/kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { restartsOf } from './restart.js';
import { StartBackoff } from './start-backoff.js';

const policy = {
  ...defaultPolicy,
  startBackoffBaseMs: 100,
  startBackoffMaxMs: 1_000,
  jitterPercent: 0,
};

function instance(backoff?: InstanceBackoff, generation = 1): Instance {
  const metadata = { uid: 'u', resourceVersion: '1', generation, createdAt: '', updatedAt: '' };
  const key = { namespace: 'default', name: 'i', service: 's', ordinal: 0 };
  return { ...key, template: {}, metadata, ...(backoff ? { backoff } : {}) };
}

describe('the backoff of starts', () => {
  const clock = new FakeClock();
  const make = () => new StartBackoff({ clock, random: seededRandom(1), policy });

  it('delays a start longer with each failure, based only on the status', async () => {
    let backoff: InstanceBackoff | undefined;
    for (const delayMs of [100, 200, 400, 800, 1_000, 1_000]) {
      const failed = make().failed(instance(backoff));
      expect(failed.delayMs).to.equal(delayMs);
      ({ backoff } = failed);
      expect(make().leftMs(instance(backoff))).to.equal(delayMs);
      await clock.advance(delayMs);
      expect(make().leftMs(instance(backoff))).to.equal(0);
    }
  });

  it('does not delay an instance that was changed, and is reset for it', () => {
    const { backoff } = make().failed(instance());
    expect(make().leftMs(instance(backoff, 2))).to.equal(0);
    expect(make().failed(instance(backoff, 2)).delayMs).to.equal(100);
  });

  it('delays no start beyond the maximum backoff, regardless of clock changes', () => {
    const nextStartAt = new Date(clock.now() + 3_600_000).toISOString();
    expect(make().leftMs(instance({ nextStartAt, generation: 1 }))).to.equal(1_000);
    expect(make().leftMs(instance({ nextStartAt: 'soon', generation: 1 }))).to.equal(0);
  });

  it('counts each short run once, and none that the agent ended', () => {
    const end = {
      state: 'exited',
      exitCode: 1,
      startedAt: 0,
      exitedAt: 1,
      requested: false,
    } as const;
    const after = (backoff: InstanceBackoff | undefined, run: number, more = {}) =>
      make().ended(instance(backoff), { ...end, ...more, run });
    const first = after(undefined, 1);
    expect(first).to.deep.equal({ crashes: 1, run: 1 });
    expect(after(first, 1)).to.equal(first);
    expect(after(first, 2)).to.deep.equal({ crashes: 2, run: 2 });
    expect(after(first, 2, { requested: true })).to.equal(first);
    const exitedAt = policy.restartHealthyMs;
    expect(after(first, 2, { exitedAt })).to.deep.equal({ crashes: 0, run: 2 });
  });

  it('resets the count of failed starts once the workload runs, and keeps that of short runs', () => {
    const failed = make().failed(instance({ crashes: 3, run: 3 }), 4);
    expect(make().running(instance(failed.backoff))).to.deep.equal({ crashes: 3, run: 4 });
    expect(make().running(instance())).to.equal(undefined);
  });

  it('counts failed pulls and creations, which are no restarts, and failed starts, which are', () => {
    let backoff: InstanceBackoff | undefined;
    for (const run of [1, 2, 3]) ({ backoff } = make().failed(instance(backoff), run, true));
    ({ backoff } = make().failed(instance(backoff), 4));
    expect(backoff).to.include({ failedPulls: 3, failedStarts: 4 });
    const running = make().running(instance(backoff));
    expect(running).to.deep.equal({ run: 4, failedPulls: 3 });
    expect(restartsOf({ run: 5 }, running)).to.equal(1);
    expect(restartsOf({ run: 1 }, undefined)).to.equal(0);
  });
});
