import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import type { Instance } from '../../instance/kind.js';
import { ReadyDelay } from './ready-delay.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

function instance(more: Partial<Instance> = {}): Instance {
  const key = { namespace: 'default', name: 'i', service: 's', ordinal: 0 };
  return { ...key, template: {}, metadata, ...more };
}

const ready = {
  type: 'Ready',
  status: 'True',
  reason: '',
  message: '',
  lastTransitionAt: '',
} as const;

describe('the time until an instance is ready', () => {
  let clock: FakeClock;
  let delay: ReadyDelay;
  beforeEach(() => {
    clock = new FakeClock();
    delay = new ReadyDelay(clock);
  });
  const running = (run = 1, startedAt = clock.now()) =>
    ({ state: 'running', run, pid: 1, startedAt }) as const;

  it('is two seconds of running, or minReadySeconds, which may be 0', async () => {
    const state = running();
    expect(delay.leftMs(instance(), state)).to.equal(2_000);
    expect(delay.leftMs(instance({ minReadySeconds: 30 }), state)).to.equal(30_000);
    expect(delay.leftMs(instance({ minReadySeconds: 0 }), state)).to.equal(0);
    await clock.advance(1_500);
    expect(delay.leftMs(instance(), state)).to.equal(500);
    await clock.advance(500);
    expect(delay.leftMs(instance(), state)).to.equal(0);
  });

  it('counts from the start of the workload, which an earlier process of the agent may have started', () => {
    expect(delay.leftMs(instance(), running(1, clock.now() - 1_200))).to.equal(800);
    expect(delay.leftMs(instance(), running(1, clock.now() - 60_000))).to.equal(0);
  });

  it('starts again with each run', async () => {
    delay.leftMs(instance(), running(1));
    await clock.advance(1_900);
    expect(delay.leftMs(instance(), running(2))).to.equal(2_000);
  });

  it('is over for a run that was ready, also if minReadySeconds was increased meanwhile', () => {
    const was = { conditions: [ready], restartCount: 2, minReadySeconds: 60 };
    expect(delay.leftMs(instance(was), running(3))).to.equal(0);
    expect(delay.leftMs(instance(was), running(4))).to.equal(60_000);
    // Runs that are no restarts.
    const backoff = { failedPulls: 3, engineEnds: 2 };
    expect(delay.leftMs(instance({ ...was, backoff }), running(8))).to.equal(0);
  });

  it('is not extended by a clock that was set back', async () => {
    const future = running(1, clock.now() + 3_600_000);
    expect(delay.leftMs(instance(), future)).to.equal(2_000);
    await clock.advance(2_000);
    expect(delay.leftMs(instance(), future)).to.equal(0);
  });
});
