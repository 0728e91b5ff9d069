import { expect } from 'chai';
import { systemClock } from 'kedge';
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

/** The state after a start whose container is gone afterwards, and that fails as a whole or when it checks the mounts. */
async function failed(container: { start?: Error; requireMounts?: Error }) {
  const ended = (error?: Error) => () => (error ? Promise.reject(error) : Promise.resolve());
  const starts = new ContainerStarts({
    ...{ clock: systemClock, cluster: 'c', hostPortAddress: '', ownDirectories: [] },
    containers: { inspect: () => Promise.resolve(undefined) },
    records: {
      begin: () => Promise.resolve(),
      settled: () => Promise.resolve(),
      lastRun: () => Promise.resolve(0),
      unsettledRun: () => Promise.resolve(undefined),
    },
    container: { start: ended(container.start), requireMounts: ended(container.requireMounts) },
    stuck: { during: (_id: string, _run: number, work: () => Promise<void>) => work() },
    network: { name: 'n' },
    images: { provide: () => Promise.resolve('sha256:1') },
    boot: () => Promise.resolve({ id: 'b' }),
    signal: new AbortController().signal,
  } as unknown as ContainerStartsOptions);
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
