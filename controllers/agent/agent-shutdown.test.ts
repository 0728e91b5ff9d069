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
  StatusError,
} from 'kedge';
import { eventually, FakeClock, reachState, RecordingLogger, settle } from 'kedge/testing';
import { configmaps } from '../configmap/kind.js';
import { agentFinalizer } from '../instance/index.js';
import { instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { volumes } from '../volume/kind.js';
import { parameterResolver, Sealer } from '../secret/index.js';
import { defaultPolicy } from '../policy/policy.js';
import { PlayedDriver } from '../testing/played-driver.js';
import { PlayedRuntime } from '../testing/played-runtime.js';
import { Agent } from './agent.js';
import { DataFiles, dataFilesDirectory } from './inputs/data-files.js';
import { VolumeManager } from './volumes/volume-manager.js';

const volumeKey = { namespace: 'default', name: 'v' };

describe('the shutdown of the agent', () => {
  let directory: string;
  let clock: FakeClock;
  let store: ObjectStore;
  let runtime: PlayedRuntime;
  let dataFiles: DataFiles;
  let logger: RecordingLogger;
  let agent: Agent;
  let manager: Manager;
  /** Whether the store refuses writes of instances. */
  let refuses: boolean;

  beforeEach(async () => {
    refuses = false;
    directory = await mkdtemp(join(tmpdir(), 'kedge-shutdown-'));
    clock = new FakeClock();
    logger = new RecordingLogger();
    store = await openStore({ engine: new MemoryEngine(), clock });
    const transact: ObjectStore['transact'] = (operations) =>
      refuses && operations.some((operation) => 'kind' in operation && operation.kind === instances)
        ? Promise.reject(
            new StatusError({ code: 'PermissionDenied', reason: 'Denied', message: 'no' }),
          )
        : store.transact(operations);
    const refusing = new Proxy(store, {
      get: (target, property): unknown => {
        if (property === 'transact') return transact;
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const random = seededRandom(1);
    manager = new Manager({ store: refusing, clock, random });
    runtime = new PlayedRuntime();
    const sealer = new Sealer(randomBytes(32));
    const ports = { store: refusing, manager, clock, random, logger };
    const common = { ...ports, node: 'n', policy: defaultPolicy };
    const volumeManager = new VolumeManager({
      ...common,
      drivers: new PlayedDriver().registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
      mountRoot: join(directory, 'mounts'),
      mayMount: false,
    });
    dataFiles = new DataFiles(dataFilesDirectory(directory), directory);
    agent = new Agent({ ...common, runtimes: [runtime], volumeManager, sealer, dataFiles });
    await manager.start();
    await agent.start();
    const storage = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    await store.create(volumes, { ...volumeKey, ...storage });
    await reachState(store, volumes, volumeKey, 'Available', { driver: 'played', handle: '/h' });
    await store.create(configmaps, {
      namespace: 'default',
      name: 'c',
      data: { k: 'x' },
      version: 1,
    });
    await store.create(instances, {
      namespace: 'default',
      name: 's-0',
      service: 's',
      ordinal: 0,
      node: 'n',
      template: {
        runtime: 'process',
        command: ['x'],
        volumes: [{ name: 'v', claim: { name: 'v' }, mountPath: '/v' }],
        configmapMounts: [{ name: 'c', mountPath: '/c' }],
      },
      metadata: { finalizers: [agentFinalizer] },
    });
    await eventually('it runs', async () => {
      await clock.advance(100);
      const instance = await store.get(instances, { namespace: 'default', name: 's-0' });
      return instance?.status === 'Running';
    });
    expect(await attachments()).to.equal(1);
  });
  afterEach(async () => {
    const stopping = manager.stop(1_000);
    await eventually('the stop', async () => {
      await clock.advance(100);
      return manager.state === 'stopped';
    });
    await stopping;
    await store.close();
    await rm(directory, { recursive: true });
  });

  const attachments = async () => (await store.get(volumes, volumeKey))?.attachments?.length ?? 0;

  async function stop(): Promise<void> {
    let isOver = false;
    const stopping = agent.stop(20_000).finally(() => (isOver = true));
    await eventually('the stop of the agent', async () => {
      await clock.advance(100);
      return isOver;
    });
    await stopping;
  }
  /** Lines about the teardown of volumes. */
  const summaries = () =>
    logger.lines
      .filter(({ message }) => /teardown|torn down/.test(message))
      .map(({ message, fields }) => ({ msg: message, ...fields }));
  const warnings = () =>
    logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);

  it('releases the volumes of a workload that has ended, also if its status is refused', async () => {
    refuses = true;
    await stop();
    expect(await attachments()).to.equal(0);
    expect(warnings()).to.deep.equal(['the end of a workload could not be recorded']);
  });

  it('releases the volumes of a workload that has ended, also if its files remain', async () => {
    dataFiles.remove = () => Promise.reject(new Error('EIO'));
    await stop();
    expect(await attachments()).to.equal(0);
    expect(warnings()).to.deep.equal(['files of a workload that has ended remain']);
    const instance = await store.get(instances, { namespace: 'default', name: 's-0' });
    expect(instance?.status).to.equal('Stopped');
  });

  it('releases volumes also if a workload without an instance has ended and can not be removed', async () => {
    runtime.states.set('abandoned', { state: 'running', run: 1, pid: 2, startedAt: clock.now() });
    runtime.remove = () => Promise.reject(new Error('EIO'));
    await stop();
    expect(await attachments()).to.equal(0);
    expect(warnings()).to.include('a workload without an instance has ended, and remains');
  });

  it('keeps the volumes of a workload that could not be stopped', async () => {
    runtime.stop = () => Promise.reject(new Error('the engine is gone'));
    await stop();
    expect(await attachments()).to.equal(1);
    expect(warnings()).to.include('a workload could not be stopped');
  });

  const instanceNow = async () =>
    (await store.get(instances, { namespace: 'default', name: 's-0' }))!;
  /** Ends the workload, and waits until a condition of its restart holds. */
  async function restarts(what: string, holds: () => boolean): Promise<void> {
    runtime.crash((await instanceNow()).metadata.uid, clock.now());
    await eventually(what, async () => {
      await clock.advance(1_000);
      return holds();
    });
  }

  it('stops a workload whose start is in progress', async () => {
    let proceed: () => void = () => undefined;
    runtime.startsWait = new Promise((resolve) => (proceed = resolve));
    const { length } = runtime.starts;
    await restarts('the start', () => runtime.starts.length > length);
    let isOver = false;
    const stopping = agent.stop(20_000).finally(() => (isOver = true));
    // Longer than the controller waits for its reconciles.
    await clock.advance(5_000);
    proceed();
    await eventually('the stop of the agent', async () => {
      await clock.advance(100);
      return isOver;
    });
    await stopping;
    expect([...runtime.states.keys()]).to.deep.equal([]);
    expect(await attachments()).to.equal(0);
  });

  it('starts no workload afterwards, also by a reconcile that continues', async () => {
    let proceed: () => void = () => undefined;
    const inputs = new Promise<'whole'>((resolve) => (proceed = () => resolve('whole')));
    let isAsked = false;
    dataFiles.remainsOf = () => {
      isAsked = true;
      return inputs;
    };
    await restarts('the check of the files', () => isAsked);
    const { length } = runtime.starts;
    await stop();
    proceed();
    await settle();
    expect(runtime.starts).to.have.lengthOf(length);
  });

  it('reports that all volumes stay attached while a workload without an instance may still run', async () => {
    runtime.states.set('abandoned', { state: 'running', run: 1, pid: 2, startedAt: clock.now() });
    const stopped = runtime.stop.bind(runtime);
    runtime.stop = (id) =>
      id === 'abandoned' ? Promise.reject(new Error('SIGKILL failed')) : stopped(id);
    await stop();
    expect(await attachments()).to.equal(1);
    expect(summaries()).to.deep.equal([
      { msg: 'Volume teardown incomplete', released: 0, total: 1 },
    ]);
  });

  it('ends with its budget and the warning about volumes if a runtime does not answer', async () => {
    runtime.stop = () => new Promise(() => undefined);
    const begun = clock.monotonic();
    await stop();
    expect(clock.monotonic() - begun).to.be.within(20_000, 21_000);
    expect(await attachments()).to.equal(1);
    const spent = 'Shutdown budget spent before volume teardown; volumes stay attached';
    expect(summaries()).to.deep.equal([{ msg: spent, total: 1 }]);
  });
});
