import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  findCondition,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { eventually, FakeClock, reachState, settle } from 'kedge/testing';
import { agentFinalizer } from '../../instance/index.js';
import { type Instance, instances } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import type { VolumeMount } from '../../service/kind.js';
import { volumes } from '../../volume/kind.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { defaultPolicy } from '../../policy/policy.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { PlayedRuntime } from '../../testing/played-runtime.js';
import { Agent } from '../agent.js';
import { DataFiles, dataFilesDirectory } from '../inputs/data-files.js';
import { VolumeManager } from '../volumes/volume-manager.js';

/** Restarts of workloads that ended together are due together. */
const atOnce = { ...defaultPolicy, jitterPercent: 0 };

describe('the agent', () => {
  let directory: string;
  let clock: FakeClock;
  let store: ObjectStore;
  let manager: Manager;
  let runtime: PlayedRuntime;
  let driver: PlayedDriver;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-agent-'));
    clock = new FakeClock();
    const random = seededRandom(1);
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random });
    runtime = new PlayedRuntime();
    driver = new PlayedDriver();
    const sealer = new Sealer(randomBytes(32));
    const ports = { store, manager, clock, random, logger: silentLogger };
    const common = { ...ports, node: 'n', policy: atOnce };
    const volumeManager = new VolumeManager({
      ...common,
      drivers: driver.registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
      mountRoot: join(directory, 'mounts'),
      mayMount: false,
    });
    const dataFiles = new DataFiles(dataFilesDirectory(directory), directory);
    const agent = new Agent({ ...common, runtimes: [runtime], volumeManager, sealer, dataFiles });
    manager.addRunnable(agent);
    await manager.start();
  });
  afterEach(async () => {
    runtime.deaf = false;
    const stopping = manager.stop(600_000);
    await eventually('the stop', async () => {
      await clock.advance(100);
      return manager.state === 'stopped';
    });
    await stopping;
    await store.close();
    await rm(directory, { recursive: true });
  });

  const keyOf = (name: string) => ({ namespace: 'default', name });
  const create = (
    name: string,
    mounts: readonly VolumeMount[] = [],
    runtimeName: 'process' | 'container' = 'process',
  ) =>
    store.create(instances, {
      ...keyOf(name),
      service: name,
      ordinal: 0,
      node: 'n',
      template: {
        runtime: runtimeName,
        command: ['x'],
        terminationGracePeriodSeconds: 20,
        volumes: mounts,
      },
      metadata: { finalizers: [agentFinalizer] },
    });
  /** Counts the calls of the store's `get` from now on. Returns a function that returns their number. */
  const countReads = (): (() => number) => {
    let reads = 0;
    const original = store.get.bind(store);
    const counting: typeof store.get = (...args) => {
      reads += 1;
      return original(...args);
    };
    Object.assign(store, { get: counting });
    return () => reads;
  };
  const get = (name: string): Promise<Instance | undefined> => store.get(instances, keyOf(name));
  const readiness = async (name: string) => findCondition((await get(name))?.conditions, 'Ready');
  const until = (name: string, status: string) =>
    eventually(`${name} ${status}`, async () => (await get(name))?.status === status);

  it('starts a workload at once while 64 others ignore SIGTERM', async () => {
    runtime.deaf = true;
    const names = Array.from({ length: 64 }, (_, n) => `deaf-${n}`);
    await Promise.all(names.map((name) => create(name)));
    for (const name of names) await until(name, 'Running');
    await Promise.all(names.map((name) => store.deleteByName(instances, keyOf(name))));
    await create('healthy');
    await until('healthy', 'Running');
    expect(await get('deaf-63'), 'no time has passed').to.not.equal(undefined);
    await eventually('the reason', async () => (await readiness('deaf-63'))?.reason === 'Stopping');
    expect((await readiness('deaf-63'))?.message).to.equal(
      'SIGTERM sent; SIGKILL follows after 20 s',
    );
  });

  it('starts a new workload before those that crash and are due to start again', async () => {
    runtime.now = () => clock.now();
    const names = Array.from({ length: 60 }, (_, n) => `crash-${n}`);
    await Promise.all(names.map((name) => create(name)));
    for (const name of names) await until(name, 'Running');
    for (const name of names) runtime.crash((await get(name))!.metadata.uid, clock.now());
    for (const name of names) await until(name, 'Failed');
    await settle();
    let release = (): void => undefined;
    runtime.startsWait = new Promise((resolve) => (release = resolve));
    await clock.advance(1_000);
    await eventually('the first restarts', () => runtime.starts.length > names.length);
    await settle();
    const under = runtime.starts.length;
    expect(under, 'all workers are busy').to.be.lessThan(2 * names.length);
    const { metadata } = await create('healthy');
    const { lister } = manager.informer(instances);
    await eventually('its event', () => lister.get('default/healthy') !== undefined);
    release();
    await until('healthy', 'Running');
    for (const name of names) await until(name, 'Running');
    expect(runtime.starts.indexOf(metadata.uid) - under, 'restarts before it').to.be.lessThan(5);
  });

  it('starts a new workload while the restarts of 60 crash loops are in progress', async () => {
    runtime.now = () => clock.now();
    const names = Array.from({ length: 60 }, (_, n) => `crash-${n}`);
    await Promise.all(names.map((name) => create(name)));
    for (const name of names) await until(name, 'Running');
    for (const name of names) runtime.crash((await get(name))!.metadata.uid, clock.now());
    for (const name of names) await until(name, 'Failed');
    await settle();
    let release = (): void => undefined;
    runtime.startsWait = new Promise((resolve) => (release = resolve));
    await clock.advance(1_000);
    await eventually('the first restarts', () => runtime.starts.length === names.length + 2);
    await settle();
    const { metadata } = await create('healthy');
    await eventually('its start', () => runtime.starts.includes(metadata.uid));
    expect(runtime.starts, 'no restart more').to.have.length(names.length + 3);
    release();
    for (const name of ['healthy', ...names]) await until(name, 'Running');
  });

  it('completes a deletion when the workload ends, and retries a removal that fails after the grace period', async () => {
    runtime.deaf = true;
    for (const name of ['early', 'late']) {
      await create(name);
      await until(name, 'Running');
    }
    const early = (await get('early'))!.metadata.uid;
    for (const name of ['early', 'late']) await store.deleteByName(instances, keyOf(name));
    await eventually('the reason', async () => (await readiness('late'))?.reason === 'Stopping');
    runtime.end(early);
    await eventually('the early one gone', async () => (await get('early')) === undefined);
    Object.assign(runtime, { deaf: false, removalsFail: 'Permission denied' });
    await clock.advance(20_000);
    await eventually('why', async () => (await readiness('late'))?.reason === 'StopFailed');
    runtime.removalsFail = undefined;
    await clock.advance(600_000);
    await eventually('the late one gone', async () => (await get('late')) === undefined);
  });

  it('reports why a start fails, and retries at growing intervals', async () => {
    runtime.startsFail = 'no space left on device';
    await create('i');
    await until('i', 'Failed');
    expect(await readiness('i')).to.include({
      reason: 'StartFailed',
      message: "can't be started: no space left on device",
    });
    expect(await get('i')).to.include({
      failureMessage: "can't be started: no space left on device",
    });
    for (let second = 0; second < 300; second++) {
      await clock.advance(1_000);
      await settle();
    }
    expect(runtime.starts.length).to.be.within(6, 14);
    runtime.startsFail = undefined;
    await clock.advance(80_000);
    await until('i', 'Running');
    expect(await get('i')).to.include({ failureMessage: '' });
  });

  it('starts instances that wait for their runtime once it is available, without a notification', async () => {
    runtime.unavailable = 'the runtime does not answer';
    await create('i');
    await eventually('the reason', async () => (await readiness('i'))?.reason !== undefined);
    expect(await readiness('i')).to.include({
      reason: 'RuntimeUnavailable',
      message: 'the runtime does not answer',
    });
    runtime.unavailable = undefined;
    await clock.advance(defaultPolicy.workloadProbeMs);
    await until('i', 'Running');
  });

  it('keeps the status of a running workload while its runtime does not answer', async () => {
    await create('i');
    await until('i', 'Running');
    runtime.unavailable = 'the runtime does not answer';
    await clock.advance(defaultPolicy.workloadProbeMs);
    await eventually(
      'the reason',
      async () => (await readiness('i'))?.reason === 'RuntimeUnavailable',
    );
    expect(await readiness('i')).to.include({ status: 'Unknown' });
    expect(await get('i')).to.include({ status: 'Running', pid: 1 });
    runtime.unavailable = undefined;
    await clock.advance(defaultPolicy.workloadProbeMs);
    await eventually('its probe', async () => (await readiness('i'))?.status === 'True');
    expect(runtime.starts).to.have.length(1);
  });

  it('queries a runtime once per interval for all instances that wait for it, and reads none of them', async () => {
    runtime.unavailable = 'the runtime does not answer';
    const names = Array.from({ length: 40 }, (_, n) => `waiting-${n}`);
    await Promise.all(names.map((name) => create(name)));
    for (const name of names)
      await eventually(name, async () => (await readiness(name))?.reason === 'RuntimeUnavailable');
    await settle();
    const reads = countReads();
    const before = runtime.asks;
    await clock.advance(10 * defaultPolicy.workloadProbeMs);
    expect(runtime.asks - before, 'one a probe').to.equal(10);
    expect(reads()).to.equal(0);
    runtime.unavailable = undefined;
    await clock.advance(defaultPolicy.workloadProbeMs);
    for (const name of names) await until(name, 'Running');
  });

  it('reports a changed reason why a runtime is unavailable', async () => {
    runtime.unavailable = 'it is not installed';
    await create('i');
    await eventually('why', async () => (await readiness('i'))?.message === 'it is not installed');
    runtime.unavailable = 'it is too old';
    await clock.advance(defaultPolicy.workloadProbeMs);
    await eventually('why now', async () => (await readiness('i'))?.message === 'it is too old');
  });

  it('does not probe an instance whose runtime the node lacks, until the instance changes', async () => {
    await create('i', [], 'container');
    await eventually('why', async () => (await readiness('i'))?.reason === 'RuntimeUnavailable');
    await settle();
    const reads = countReads();
    await clock.advance(10 * defaultPolicy.workloadProbeMs);
    expect(reads()).to.equal(0);
    const { template } = (await get('i'))!;
    await store.update(instances, {
      ...(await get('i'))!,
      template: { ...template, runtime: 'process' },
    });
    await until('i', 'Running');
  });

  it('detects within one probe a workload that ended without a notification', async () => {
    runtime.now = () => clock.now();
    await create('i');
    await until('i', 'Running');
    await clock.advance(2 * defaultPolicy.workloadProbeMs);
    expect((await readiness('i'))?.status).to.equal('True');
    const { uid } = (await get('i'))!.metadata;
    await settle();
    const [run, startedAt, exitedAt] = [1, clock.now(), clock.now()];
    runtime.states.set(uid, {
      state: 'exited',
      run,
      exitCode: 1,
      startedAt,
      exitedAt,
      requested: false,
    });
    await clock.advance(defaultPolicy.workloadProbeMs);
    await eventually('its next run', () => runtime.starts.length === 2);
  });

  it('probes a workload whose start has no outcome at growing intervals', async () => {
    runtime.startsHang = true;
    await create('i');
    await until('i', 'Starting');
    await clock.advance(600_000);
    const before = runtime.looks;
    await clock.advance(60 * 60_000);
    expect(runtime.looks - before).to.be.within(60, 130);
  });

  it('names the volume that can not be detached from a deleted instance', async () => {
    await store.create(volumes, {
      ...keyOf('v'),
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
    const made = { driver: 'played', handle: '/path' };
    await reachState(store, volumes, keyOf('v'), 'Available', made);
    await create('i', [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }]);
    await until('i', 'Running');
    driver.failsOn = { detach: 'Unavailable' };
    await store.deleteByName(instances, keyOf('i'));
    await eventually('the reason', async () => (await readiness('i'))?.reason === 'DetachFailed');
    expect((await readiness('i'))?.message).to.match(/^volume default\/v: call \d+$/);
    driver.failsOn = {};
    await clock.advance(120_000);
    await eventually('its end', async () => (await get('i')) === undefined);
  });

  it('stops a workload whose volume was force-detached, and starts it again once it has the volume', async () => {
    await store.create(volumes, {
      ...keyOf('v'),
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
    const made = { driver: 'played', handle: '/path' };
    await reachState(store, volumes, keyOf('v'), 'Available', made);
    await create('i', [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }]);
    await until('i', 'Running');
    const { uid } = (await get('i'))!.metadata;
    const taken = { attachments: [], status: 'Available', boundNode: '', boundClaim: '' } as const;
    const given = [{ claim: 'other/i', node: 'm', state: 'Attached' as const }];
    await store.updateStatus(volumes, keyOf('v'), { ...taken, attachments: given });
    await eventually('its end', () => runtime.states.get(uid) === undefined);
    await eventually('why', async () => (await readiness('i'))?.reason === 'VolumeInUse');
    expect(driver.calls, 'unmounted here').to.include('detach');
    expect((await store.get(volumes, keyOf('v')))?.attachments, 'of the other').to.deep.equal(
      given,
    );
    await store.updateStatus(volumes, keyOf('v'), taken);
    await until('i', 'Running');
    expect(runtime.starts).to.deep.equal([uid, uid]);
    expect((await store.get(volumes, keyOf('v')))?.attachments?.[0]).to.include({
      claim: 'default/i',
      state: 'Attached',
    });
  });

  it('stops a workload whose volume is being force-detached, and makes no call of its driver', async () => {
    await store.create(volumes, {
      ...keyOf('v'),
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
    const made = { driver: 'played', handle: '/path' };
    await reachState(store, volumes, keyOf('v'), 'Available', made);
    await create('i', [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }]);
    await until('i', 'Running');
    const { uid } = (await get('i'))!.metadata;
    const attachments = [{ claim: 'default/i', node: 'n', state: 'Detaching' as const }];
    await store.updateStatus(volumes, keyOf('v'), { attachments });
    await eventually('its end', () => runtime.states.get(uid) === undefined);
    await settle();
    expect(driver.calls).to.not.include('detach');
  });

  it('starts an instance that waits for a volume on the same path once its holder released it, without a timer', async () => {
    for (const name of ['one', 'two']) {
      await store.create(volumes, {
        ...keyOf(name),
        storageClassName: 'c',
        size: '1Gi',
        accessMode: 'ReadWriteOnce',
      });
      const made = { driver: 'played', handle: '/same/path' };
      await reachState(store, volumes, keyOf(name), 'Available', made);
    }
    for (const name of ['one', 'two']) {
      await create(name, [{ name: 'd', mountPath: '/d', claim: { name } }]);
      if (name === 'one') await until('one', 'Running');
    }
    await eventually('the reason', async () => (await readiness('two'))?.reason === 'VolumeInUse');
    await store.deleteByName(instances, keyOf('one'));
    await until('two', 'Running');
  });
});
