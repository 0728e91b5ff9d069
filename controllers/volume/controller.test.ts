import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import {
  type LogFields,
  type Logger,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import {
  type Driver,
  DriverError,
  type DriverErrorKind,
  type DriverRegistry,
  noSnapshots,
} from '@kedge/driver-sdk';
import { claimOf, VolumeManager } from '../agent/index.js';
import { type Instance, secrets, storageClasses, type Volume, volumes } from '../kinds/index.js';
import { parameterResolver, Sealer } from '../secret/index.js';
import { volumeFinalizer } from './admission.js';
import { rearm, volumeController } from './controller.js';

/** A driver that does what the test says and counts. */
class PlayedDriver {
  readonly calls: string[] = [];
  fails: DriverErrorKind | undefined;

  registry(): DriverRegistry {
    const call = (name: string): Promise<void> => {
      this.calls.push(name);
      const { fails } = this;
      // A message of its own each time, as providers' request ids make them.
      if (fails) return Promise.reject(new DriverError(fails, `call ${this.calls.length}`));
      return Promise.resolve();
    };
    const driver: Driver = {
      name: 'played',
      capabilities: () => ({
        accessModes: ['ReadWriteOnce'],
        snapshots: false,
        clone: false,
        expand: true,
        onlineExpand: true,
        blockDevice: false,
        topologyKeys: [],
        sensitiveParameters: [],
        ownsData: true,
      }),
      validateParameters: () => [],
      provision: ({ sizeBytes }) => call('provision').then(() => ({ handle: 'h', sizeBytes })),
      observe: () => call('observe').then(() => ({ handle: 'h', sizeBytes: undefined })),
      delete: () => call('delete'),
      attach: () => call('attach').then(() => ({ devicePath: '' })),
      detach: () => call('detach'),
      mount: () => call('mount').then(() => ({ path: '/volume' })),
      unmount: () => call('unmount'),
      expand: ({ sizeBytes }) =>
        call('expand').then(() => ({ sizeBytes, fileSystemPending: false })),
      ...noSnapshots('played'),
    };
    return { names: ['played'], get: () => Promise.resolve(driver) };
  }
}

/** Keeps what was logged. */
function keepingLogger(lines: (LogFields & { readonly msg: string })[]): Logger {
  const keep = (msg: string, fields: LogFields = {}): void => void lines.push({ msg, ...fields });
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  return logger;
}

describe('volume controller', () => {
  const key = { namespace: 'default', name: 'v' };
  let clock: FakeClock;
  let store: ObjectStore;
  let manager: Manager;
  let driver: PlayedDriver;
  let volumeManager: VolumeManager;
  let lines: (LogFields & { readonly msg: string })[];

  beforeEach(async () => {
    clock = new FakeClock();
    lines = [];
    const random = seededRandom(1);
    const logger = keepingLogger(lines);
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random });
    driver = new PlayedDriver();
    const drivers = driver.registry();
    const resolver = parameterResolver(
      manager.informer(secrets).lister,
      new Sealer(randomBytes(32)),
    );
    const common = { store, manager, drivers, resolver, node: 'n', clock, random, logger };
    manager.addController(volumeController(common));
    volumeManager = new VolumeManager({ ...common, mountRoot: '/mounts' });
    await store.create(storageClasses, { name: 'c', driver: 'played', reclaimPolicy: 'delete' });
    await manager.start();
  });
  afterEach(async () => {
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  async function create(): Promise<void> {
    await store.create(volumes, {
      ...key,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      metadata: { finalizers: [volumeFinalizer] },
    });
    await settle();
  }
  const volume = async (): Promise<Volume | undefined> => store.get(volumes, key);

  it('V5: backs off although recording each failure wakes it, and fails after ten attempts', async () => {
    driver.fails = 'Unavailable';
    await create();
    expect(driver.calls).to.have.length(1);
    await clock.advance(500);
    expect(driver.calls).to.have.length(1);
    await clock.advance(60_000);
    expect(driver.calls.length).to.be.within(5, 7);
    await clock.advance(700_000);
    expect((await volume())?.status).to.equal('Failed');
    expect((await volume())?.attempts).to.equal(10);
    expect(driver.calls).to.have.length(10);
    await rearm(store, (await volume())!);
    await settle();
    expect(driver.calls, 'tried at once by hand').to.have.length(11);
  });

  it('tries at once when what the failure depended on changes', async () => {
    driver.fails = 'Unavailable';
    await create();
    await clock.advance(20_000);
    const before = driver.calls.length;
    driver.fails = undefined;
    const cls = await store.get(storageClasses, { name: 'c' });
    await store.update(storageClasses, { ...cls!, labels: { touched: 'yes' } });
    await settle();
    expect(driver.calls.length).to.equal(before + 1);
    expect((await volume())?.status).to.equal('Available');
  });

  it('V24: a failing deletion backs off too, keeps the object, and ends when the driver can', async () => {
    await create();
    await store.delete(volumes, key);
    driver.fails = 'InUse';
    await settle();
    await clock.advance(60_000);
    const tries = driver.calls.filter((call) => call === 'delete').length;
    expect(tries).to.be.within(2, 8);
    expect((await volume())?.lastOperation?.message).to.match(/^call/);
    driver.fails = 'PermissionDenied';
    await clock.advance(300_000);
    expect(await volume()).to.include({ status: 'Failed', handle: 'h' });
    expect((await volume())?.failureMessage).to.match(/^call/);
    driver.fails = undefined;
    await clock.advance(300_000);
    expect(await volume()).to.equal(undefined);
  });

  it('V8, V20: an unknown outcome is Stalled until an observation tells', async () => {
    driver.fails = 'Timeout';
    await create();
    expect((await volume())?.status).to.equal('Stalled');
    await clock.advance(90_000);
    expect(driver.calls.filter((call) => call === 'provision')).to.have.length(1);
    driver.fails = undefined;
    await clock.advance(60_000);
    expect((await volume())?.status).to.equal('Available');
  });

  it('a teardown leaves volumes of workloads that run attached, and says so', async () => {
    await create();
    const instance: Instance = {
      name: 'i-0',
      namespace: 'default',
      service: 'i',
      ordinal: 0,
      template: {},
      metadata: { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
    };
    const mount = { name: 'd', mountPath: '/d', claim: { name: 'v' } };
    expect((await volumeManager.ensure(instance, mount)).type).to.equal('mounted');
    expect((await volume())?.status).to.equal('Bound');
    await volumeManager.tearDown(1_000, new Set([claimOf(instance)]));
    expect(driver.calls).to.not.include('detach');
    expect((await volume())?.status).to.equal('Bound');
    expect(lines.at(-1)).to.include({ msg: 'Volume teardown incomplete', released: 0, total: 1 });
    await volumeManager.tearDown(1_000, new Set());
    expect((await volume())?.status).to.equal('Available');
    expect(lines.at(-1)).to.include({ msg: 'All volumes torn down', detached: 1, total: 1 });
  });

  it('of two claims on a ReadWriteOnce volume one waits', async () => {
    await create();
    const instance = (name: string): Instance => ({
      name,
      namespace: 'default',
      service: name,
      ordinal: 0,
      template: {},
      metadata: { uid: name, resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
    });
    const mount = { name: 'd', mountPath: '/d', claim: { name: 'v' } };
    const outcomes = await Promise.allSettled(
      ['a', 'b'].map((name) => volumeManager.ensure(instance(name), mount)),
    );
    const mounted = outcomes.filter((o) => o.status === 'fulfilled' && o.value.type === 'mounted');
    expect(mounted).to.have.length(1);
    expect((await volume())?.attachments).to.have.length(1);
  });
});
