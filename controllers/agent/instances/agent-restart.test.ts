import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { eventually, FakeClock, settle } from 'kedge/testing';
import { agentFinalizer } from '../../instance/index.js';
import { instances } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { defaultPolicy } from '../../policy/policy.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { PlayedRuntime } from '../../testing/played-runtime.js';
import { Agent } from '../agent.js';
import { DataFiles, dataFilesDirectory } from '../inputs/data-files.js';
import { VolumeManager } from '../volumes/volume-manager.js';

const names = Array.from({ length: 20 }, (_, n) => `loop-${n}`);

/** Restarts of workloads that ended together are due together. */
const atOnce = { ...defaultPolicy, jitterPercent: 0 };

describe('a restart of the agent', () => {
  let directory: string;
  let clock: FakeClock;
  let store: ObjectStore;
  let runtime: PlayedRuntime;
  let manager: Manager;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-agent-'));
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    runtime = new PlayedRuntime();
    runtime.now = () => clock.now();
    await run();
    for (const name of names)
      await store.create(instances, {
        namespace: 'default',
        name,
        service: name,
        ordinal: 0,
        node: 'n',
        template: { runtime: 'process', command: ['x'] },
        metadata: { finalizers: [agentFinalizer] },
      });
    await settle();
  });
  afterEach(async () => {
    await stop();
    await store.close();
    await rm(directory, { recursive: true });
  });

  async function run(): Promise<void> {
    const random = seededRandom(1);
    manager = new Manager({ store, clock, random });
    const sealer = new Sealer(randomBytes(32));
    const ports = { store, manager, clock, random, logger: silentLogger };
    const common = { ...ports, node: 'n', policy: atOnce };
    const volumeManager = new VolumeManager({
      ...common,
      drivers: new PlayedDriver().registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
      mountRoot: join(directory, 'mounts'),
      mayMount: false,
    });
    const dataFiles = new DataFiles(dataFilesDirectory(directory), directory);
    manager.addRunnable(
      new Agent({ ...common, runtimes: [runtime], volumeManager, sealer, dataFiles }),
    );
    await manager.start();
  }

  async function stop(): Promise<void> {
    const stopping = manager.stop(600_000);
    await eventually('the stop', async () => {
      await clock.advance(1);
      return manager.state === 'stopped';
    });
    await stopping;
  }

  /** Restarts the agent. The runtime keeps the states of ended workloads. */
  async function restart(): Promise<void> {
    const states = [...runtime.states].filter(([, { state }]) => state !== 'running');
    await stop();
    for (const [id, state] of states) runtime.states.set(id, state);
    await run();
    await settle();
  }

  /** Advances the time, and crashes the running workloads at the end of each second. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1_000);
      await settle();
      for (const id of runtime.states.keys()) runtime.crash(id, clock.now());
      await settle();
    }
  }

  it('of one workload waits until the cause of its end is known, and reports it', async () => {
    const key = { namespace: 'default', name: 'loop-0' };
    const { uid } = (await store.get(instances, key))!.metadata;
    const starts = runtime.starts.length;
    runtime.become(uid, { state: 'ending', run: 1 });
    await clock.advance(2_000);
    await settle();
    expect((await store.get(instances, key))?.status).to.equal('Running');
    expect(runtime.starts.length).to.equal(starts);
    const times = { startedAt: clock.now() - 3_000, exitedAt: clock.now() };
    const end = { run: 1, exitCode: 137, reason: 'OOMKilled', requested: false } as const;
    runtime.become(uid, { state: 'exited', ...end, ...times });
    await settle();
    expect((await store.get(instances, key))?.exitReason).to.equal('OOMKilled');
    await clock.advance(10_000);
    await settle();
    expect(runtime.starts.length).to.equal(starts + 1);
  });

  it('keeps the backoff of workloads that crash repeatedly', async () => {
    await pass(100);
    const [one] = names;
    const { backoff } = (await store.get(instances, { namespace: 'default', name: one ?? '' }))!;
    expect(backoff?.crashes).to.be.within(5, 8);
    const before = runtime.starts.length;
    await restart();
    await pass(15);
    expect(runtime.starts.length - before, 'within the wait that they were in').to.equal(0);
    await pass(60);
    expect(runtime.starts.length - before, 'once it is over').to.equal(names.length);
  });

  it('keeps exit code and reason of the last end in the status of the next runs', async () => {
    const key = { namespace: 'default', name: 'loop-0' };
    const { uid } = (await store.get(instances, key))!.metadata;
    async function end(exitCode: number | undefined, more: object): Promise<object | undefined> {
      const state = runtime.states.get(uid);
      if (state?.state !== 'running') throw new Error(`it is ${state?.state ?? 'not there'}`);
      const { run: number, startedAt } = state;
      const times = { startedAt, exitedAt: clock.now(), requested: false };
      runtime.states.set(uid, { state: 'exited', run: number, exitCode, ...times, ...more });
      await clock.advance(10 * defaultPolicy.workloadProbeMs);
      await eventually('its next run', () => runtime.states.get(uid)?.state === 'running');
      await settle();
      return store.get(instances, key);
    }
    const limit = { exitCode: 137, exitReason: 'OOMKilled' };
    expect(await end(137, { reason: 'OOMKilled' })).to.include({ ...limit, status: 'Running' });
    // The engine, not the workload, caused this end.
    expect(await end(143, { reason: 'EngineRestarted' })).to.include(limit);
    // A power failure ended it: the pair of code and reason stays one of a single end.
    expect(await end(undefined, {})).to.include(limit);
    expect(await end(1, {})).to.include({ exitCode: 1, exitReason: '' });
    // The cause of a kill that became known after the next start.
    expect(await end(137, {})).to.include({ exitCode: 137, exitReason: '' });
    const state = runtime.states.get(uid);
    if (state?.state !== 'running') throw new Error('it does not run');
    const previousEnd = { exitCode: 137, reason: 'OOMKilled' } as const;
    runtime.become(uid, { ...state, previousEnd });
    await settle();
    expect(await store.get(instances, key)).to.include({ ...limit, status: 'Running' });
  });

  for (const [restartPolicy, exitCode] of [
    ...[['Never', 0] as const, ['OnFailure', 0] as const, ['Never', 3] as const],
  ])
    it(`a run with ${restartPolicy} that is recorded as ended with ${exitCode} is not attributed to an engine that is restarted later`, async () => {
      const key = { namespace: 'default', name: 'job' };
      const { uid } = (
        await store.create(instances, {
          ...{ ...key, service: 'job', ordinal: 0, node: 'n' },
          template: { runtime: 'process', command: ['x'], restartPolicy },
          metadata: { finalizers: [agentFinalizer] },
        })
      ).metadata;
      await settle();
      const starts = () => runtime.starts.filter((id) => id === uid).length;
      const times = { startedAt: clock.now(), exitedAt: clock.now(), requested: false };
      const ended = { state: 'exited', run: 1, exitCode, ...times } as const;
      runtime.states.set(uid, ended);
      await clock.advance(defaultPolicy.workloadProbeMs);
      await settle();
      const recorded = (await store.get(instances, key))!;
      expect(recorded.status).to.equal(exitCode === 0 ? 'Exited' : 'Failed');
      runtime.states.set(uid, { ...ended, reason: 'EngineRestarted' });
      await restart();
      const after = (await store.get(instances, key))!;
      expect([starts(), after.restartCount ?? 0, after.backoff?.engineEnds]).to.deep.equal([
        ...[1, 0, undefined],
      ]);
      expect(after.status).to.equal(recorded.status);
      await clock.advance(2 * defaultPolicy.workloadProbeMs);
      await settle();
      expect(starts(), 'later').to.equal(1);
    });

  it('starts no ended workload whose policy does not restart it, also if the runtime lost its run', async () => {
    const uids = new Map<string, string>();
    for (const restartPolicy of ['Never', 'Always'] as const) {
      const { metadata } = await store.create(instances, {
        namespace: 'default',
        name: restartPolicy.toLowerCase(),
        service: restartPolicy.toLowerCase(),
        ordinal: 0,
        node: 'n',
        template: { runtime: 'process', command: ['x'], restartPolicy },
        metadata: { finalizers: [agentFinalizer] },
      });
      uids.set(restartPolicy, metadata.uid);
    }
    const startsOf = (policy: string) =>
      runtime.starts.filter((id) => id === uids.get(policy)).length;
    await settle();
    for (const uid of uids.values()) runtime.crash(uid, clock.now());
    await settle();
    for (const uid of uids.values()) runtime.end(uid);
    await pass(2);
    expect(startsOf('Never')).to.equal(1);
    expect(startsOf('Always')).to.be.greaterThan(1);
    await stop();
    runtime.states.clear();
    await run();
    await pass(2);
    expect(startsOf('Never')).to.equal(1);
    const ended = await store.get(instances, { namespace: 'default', name: 'never' });
    expect(ended?.status).to.equal('Failed');
  });

  it('counts the restarts of workloads that end before they are observed as running', async () => {
    runtime.endsAtOnce = true;
    await pass(100);
    const [name = ''] = names;
    const { metadata, restartCount } = (await store.get(instances, {
      namespace: 'default',
      name,
    }))!;
    const runs = runtime.starts.filter((id) => id === metadata.uid).length;
    expect(runs).to.be.greaterThan(3);
    expect(restartCount).to.equal(runs - 1);
  });

  it('keeps the backoff of workloads that can not be started', async () => {
    runtime.startsFail = 'no space left on device';
    await pass(100);
    const before = runtime.starts.length;
    await restart();
    await restart();
    await pass(5);
    expect(runtime.starts.length - before).to.be.below(names.length / 2);
    await pass(75);
    expect(runtime.starts.length - before).to.be.within(names.length, 2 * names.length);
  });

  it('restarts at most one crash loop before the first restart of another workload', async () => {
    await pass(100);
    let release = (): void => undefined;
    runtime.startsWait = new Promise((resolve) => (release = resolve));
    const before = runtime.starts.length;
    await clock.advance(300_000);
    await eventually('two restarts', () => runtime.starts.length === before + 2);
    runtime.startsWait = Promise.resolve();
    const { metadata } = await store.create(instances, {
      namespace: 'default',
      name: 'another',
      service: 'another',
      ordinal: 0,
      node: 'n',
      template: { runtime: 'process', command: ['x'] },
      metadata: { finalizers: [agentFinalizer] },
    });
    await eventually('its start', () => runtime.starts.at(-1) === metadata.uid);
    await settle();
    runtime.crash(metadata.uid, clock.now());
    await clock.advance(1_000);
    const waiting = runtime.starts.length;
    release();
    await eventually('all restarts', () => runtime.starts.length >= waiting + names.length - 1);
    expect(runtime.starts.indexOf(metadata.uid, waiting) - waiting).to.be.within(0, 1);
  });
});
