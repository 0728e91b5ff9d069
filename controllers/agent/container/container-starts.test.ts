import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { ContainerStarts, type ContainerStartsOptions } from './container-starts.js';

const id = '11111111-1111-4111-8111-111111111111';
const spec = {
  id,
  image: 'x:1',
  command: ['/bin/true'],
  env: {},
  mounts: [],
  network: 'none',
} as const;

/** Starts whose container is gone afterwards, and that fail as a whole or when they check the mounts. */
function startsWith(
  container: { start?: Error; requireMounts?: Error },
  lastRun: () => Promise<number> = () => Promise.resolve(0),
  clock = new FakeClock(),
): ContainerStarts {
  const ended = (error?: Error) => () => (error ? Promise.reject(error) : Promise.resolve());
  return new ContainerStarts({
    ...{ clock, cluster: 'c', hostPortAddress: '', ownDirectories: [] },
    containers: { inspect: () => Promise.resolve(undefined) },
    records: {
      begin: () => Promise.resolve(),
      settled: () => Promise.resolve(),
      lastRun,
      unsettledRun: () => Promise.resolve(undefined),
    },
    container: { start: ended(container.start), requireMounts: ended(container.requireMounts) },
    stuck: { during: (_id: string, _run: number, work: () => Promise<void>) => work() },
    network: { name: 'n' },
    images: { provide: () => Promise.resolve('sha256:1') },
    boot: () => Promise.resolve({ id: 'b' }),
    signal: new AbortController().signal,
  } as unknown as ContainerStartsOptions);
}

/** The state after such a start. */
async function failed(container: { start?: Error; requireMounts?: Error }) {
  const starts = startsWith(container);
  await starts.start(spec, [], () => undefined);
  return starts.stateOf(id);
}

describe('a failed start whose container is gone', () => {
  it('counts as a run if the workload was started and removed, because it has other mounts', async () => {
    const state = await failed({ requireMounts: new Error('other mounts') });
    expect(state).to.deep.equal({ state: 'startFailed', run: 1, message: 'other mounts' });
  });

  it('counts as none if no workload was started', async () => {
    const state = await failed({ start: new Error('no subnet') });
    expect(state).to.include({ message: 'no subnet', withoutContainer: true });
  });
});

describe('a start on a node whose disk is slow', () => {
  it('is known before its run is read, so that a stop waits for its end and the start is given up', async () => {
    let read: (run: number) => void = () => undefined;
    const clock = new FakeClock();
    const starts = startsWith(
      { start: new Error('the container was created') },
      () => new Promise((resolve) => (read = resolve)),
      clock,
    );
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
    expect(starts.stateOf(id)).to.include({ run: 2, message: 'the workload is being stopped' });
  });

  it('is not in progress any more if its run can not be read', async () => {
    const starts = startsWith({}, () => Promise.reject(new Error('EIO')));
    const failure: unknown = await starts
      .start(spec, [], () => undefined)
      .catch((error: unknown) => error);
    expect(String(failure)).to.contain('EIO');
    expect(starts.stateOf(id)).to.equal(undefined);
  });
});
