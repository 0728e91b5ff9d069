import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually, FakeClock } from 'kedge/testing';
import type { WorkloadState } from '../runtime/runtime.js';
import { ContainerStarts, type ContainerStartsOptions } from './container-starts.js';
import type { ContainerInspection } from './engine/engine-containers.js';
import { EngineError } from './engine/engine-error.js';
import { OtherMounts } from './run-container.js';

const id = '11111111-1111-4111-8111-111111111111';
const spec = {
  id,
  image: 'x:1',
  command: ['/bin/true'],
  env: {},
  mounts: [],
  network: 'none',
} as const;

interface Fakes {
  readonly begin?: Error;
  readonly start?: Error;
  /** Awaited for the image. */
  readonly image?: Promise<string>;
  /** Reports the progress of its pull. */
  progress?: (text: string) => void;
  readonly requireMounts?: (...given: unknown[]) => Promise<void>;
  readonly lastRun?: () => Promise<number>;
  readonly clock?: FakeClock;
  /** The run whose outcome was recorded last. */
  settledRun?: number;
}

/** Starts of an engine that has no container afterwards. */
function startsWith(fakes: Fakes): ContainerStarts {
  const { start, requireMounts = () => Promise.resolve() } = fakes;
  let last = 0;
  return new ContainerStarts({
    ...{ clock: fakes.clock ?? systemClock, cluster: 'c', hostPortAddress: '', ownDirectories: [] },
    containers: { inspect: () => Promise.resolve(undefined) },
    records: {
      begin: (_id: string, run: number) =>
        fakes.begin ? Promise.reject(fakes.begin) : Promise.resolve(void (last = run)),
      settled: (_id: string, run: number) => Promise.resolve(void (fakes.settledRun = run)),
      lastRun: fakes.lastRun ?? (() => Promise.resolve(last)),
      unsettledRun: () =>
        Promise.resolve(last === 0 || fakes.settledRun === last ? undefined : last),
    },
    container: { start: () => (start ? Promise.reject(start) : Promise.resolve()), requireMounts },
    stuck: { during: (_id: string, _run: number, work: () => Promise<void>) => work() },
    network: { name: 'n' },
    images: {
      provide: (_image: unknown, onProgress: (text: string) => void) => {
        fakes.progress = onProgress;
        return fakes.image ?? Promise.resolve('sha256:1');
      },
    },
    boot: () => Promise.resolve({ id: 'b' }),
    signal: new AbortController().signal,
  } as unknown as ContainerStartsOptions);
}
const begin = (starts: ContainerStarts) => starts.start(spec, [], () => undefined);
const otherMounts = new OtherMounts('other mounts');

describe('a failed start whose container is gone', () => {
  it('counts as a run if the workload was started and removed, because it has other mounts', async () => {
    const starts = startsWith({ requireMounts: () => Promise.reject(otherMounts) });
    await begin(starts);
    const failed = { state: 'startFailed', run: 1, message: 'other mounts' };
    expect(starts.stateOf(id)).to.deep.equal(failed);
  });

  it('counts as none if no workload was started', async () => {
    const starts = startsWith({ start: new Error('no subnet') });
    await begin(starts);
    expect(starts.stateOf(id)).to.include({ message: 'no subnet', withoutContainer: true });
  });
});

describe('a start whose run can not be recorded', () => {
  it('is an error and no run, so that the next attempt has its number', async () => {
    const fakes: Fakes = { begin: new Error('ENOSPC: no space left on device') };
    const starts = startsWith(fakes);
    expect(await begin(starts).then(() => '', String)).to.contain('ENOSPC');
    expect(starts.stateOf(id)).to.equal(undefined);
    expect(fakes.settledRun).to.equal(undefined);
  });
});

describe('a start that is given up while it waits for its image', () => {
  it('is neither a failure nor a run', async () => {
    const fakes: Fakes = { image: new Promise(() => undefined) };
    const starts = startsWith(fakes);
    const begun = begin(starts);
    await eventually('the wait for the image', () => starts.stateOf(id) !== undefined);
    starts.giveUp(id);
    await begun;
    await eventually('its end', () => starts.stateOf(id) === undefined);
    expect(fakes.settledRun).to.equal(undefined);
  });

  it('has ended although its pull continues and reports progress', async () => {
    const fakes: Fakes = { image: new Promise(() => undefined) };
    const starts = startsWith(fakes);
    const begun = begin(starts);
    await eventually('the pull', () => fakes.progress !== undefined);
    fakes.progress?.('pulling, 10 %');
    expect(starts.stateOf(id)).to.include({ message: 'pulling, 10 %' });
    starts.giveUp(id);
    await begun;
    await eventually('its end', () => starts.stateOf(id) === undefined);
    fakes.progress?.('pulling, 20 %');
    expect(starts.stateOf(id)).to.equal(undefined);
  });
});

describe('a container that was started and whose mounts were not compared', () => {
  const running: WorkloadState = { state: 'running', run: 1, pid: 42, startedAt: 0 };
  const mounts = [
    { source: '/data/mounts/binds/u', target: '/data', readOnly: false },
    { source: '', target: '/cache', readOnly: false },
  ];
  const found = { id: 'c1', pid: 42, mounts } as unknown as ContainerInspection;
  const noEngine = new EngineError('Unreachable', 'no engine');

  it('is compared when it is observed, and its start has failed if it has other mounts', async () => {
    const compared: unknown[] = [];
    const outcomes = [noEngine, otherMounts];
    const fakes: Fakes = {
      requireMounts: (_run, given, known) => {
        compared.push(known === undefined ? 'at the start' : given);
        return Promise.reject(outcomes.shift() ?? new Error('not expected'));
      },
    };
    const starts = startsWith(fakes);
    await begin(starts);
    expect(fakes.settledRun).to.equal(undefined);
    const failed = { state: 'startFailed', run: 1, message: 'other mounts' };
    expect(await starts.settledState(id, running, found)).to.deep.equal(failed);
    expect(starts.stateOf(id)).to.deep.equal(failed);
    expect(compared).to.deep.equal(['at the start', [mounts[0]]]);
    expect(fakes.settledRun).to.equal(1);
  });

  it('is not taken for compared if the engine fails to remove it', async () => {
    const outcomes = [new EngineError('Failed', 'device busy'), noEngine, undefined];
    const fakes: Fakes = {
      requireMounts: () => {
        const outcome = outcomes.shift();
        return outcome ? Promise.reject(outcome) : Promise.resolve();
      },
    };
    const starts = startsWith(fakes);
    expect(await begin(starts).then(() => '', String)).to.contain('device busy');
    expect(starts.stateOf(id)).to.equal(undefined);
    const observed = () => starts.settledState(id, running, found);
    expect(await observed().then(() => '', String)).to.contain('no engine');
    expect(fakes.settledRun).to.equal(undefined);
    expect(await observed()).to.equal(running);
    expect(fakes.settledRun).to.equal(1);
    // Once: a further comparison would be refused.
    outcomes.push(noEngine);
    expect(await observed()).to.equal(running);
  });
});

describe('a start on a node whose disk is slow', () => {
  it('is known before its run is read, so that a stop waits for its end and the start is given up', async () => {
    let read: (run: number) => void = () => undefined;
    const clock = new FakeClock();
    const starts = startsWith({
      start: new Error('the container was created'),
      lastRun: () => new Promise((resolve) => (read = resolve)),
      clock,
    });
    const over = new Promise<void>((resolve) => {
      void starts.start(spec, [{ run: 1, container: 'c', state: 'exited' }], resolve);
    });
    expect(starts.stateOf(id)).to.deep.equal({ state: 'starting', run: 2 });
    starts.giveUp(id);
    // Later than the time that a caller waits for a start.
    await clock.advance(300);
    expect(starts.stateOf(id)).to.include({ state: 'starting' });
    read(1);
    await over;
    expect(starts.stateOf(id)).to.equal(undefined);
  });

  it('is not in progress any more if its run can not be read', async () => {
    const starts = startsWith({ lastRun: () => Promise.reject(new Error('EIO')) });
    const failure: unknown = await starts
      .start(spec, [], () => undefined)
      .catch((error: unknown) => error);
    expect(String(failure)).to.contain('EIO');
    expect(starts.stateOf(id)).to.equal(undefined);
  });
});
