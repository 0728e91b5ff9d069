import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { backupToFile, findCondition, MemoryEngine, openStore, silentLogger } from 'kedge';
import { DriverError, memoryOperations, noSnapshots } from '@kedge/driver-sdk';
import type { Driver, HandleRequest } from '@kedge/driver-sdk';
import { secrets } from '../secret/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { volumes } from '../volume/kind.js';
import { Sealer, unboundPlace } from '../secret/sealer.js';
import { storageRootRecords } from '../storage-root/record.js';
import { foreignGuard, type KeysAtHand, restoreData } from './index.js';
import { foreignRecords } from '../provisioned/foreign-record.js';

const key = Buffer.alloc(32, 1);
const keys: KeysAtHand = { type: 'found', keys: [key], place: '/data/kek' };

describe('a restored cluster', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-copy-'));
    path = join(folder, 'store.backup');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const volume = (name: string) => ({
    namespace: 'default',
    name,
    size: '1Gi',
    accessMode: 'ReadWriteOnce' as const,
    storageClassName: 'local',
  });

  async function original() {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(volumes, volume('data'));
    await store.create(snapshots, {
      namespace: 'default',
      name: 's',
      source: { volume: 'data' },
    });
    await store.create(storageRootRecords, { name: 'root', node: 'n', path: '/data' });
    await backupToFile(store, path);
    return store;
  }

  async function copied(as: 'original' | 'copy') {
    const engine = new MemoryEngine();
    await restoreData({ path, engine, keys, as, replace: false });
    return openStore({ engine });
  }

  it('as a copy has a cluster id of its own, and records each volume and snapshot as foreign', async () => {
    await using first = await original();
    await using store = await copied('copy');
    expect(store.clusterId).to.not.equal(first.clusterId);
    const found = (await store.list(volumes)).items[0];
    const records = (await store.list(foreignRecords)).items;
    expect(records.map(({ kindName }) => kindName).sort()).to.deep.equal(['Snapshot', 'Volume']);
    expect(records.find(({ name }) => name === found?.metadata.uid)?.clusterId).to.equal(
      first.clusterId,
    );
    const copies = [...(await store.list(volumes)).items, ...(await store.list(snapshots)).items];
    expect(copies).to.have.length(2);
    for (const { conditions } of copies) {
      const shown = findCondition(conditions, 'OfThisCluster');
      expect(shown).to.include({ status: 'False', reason: 'Foreign' });
      expect(shown?.message).to.include(
        `belongs to cluster ${first.clusterId}, and this store is a copy`,
      );
    }
    expect((await store.list(storageRootRecords)).items).to.deep.equal([]);
    await store.verify();
    // In a copy of the copy, the copy's own volume is foreign too. Each foreign object has one record.
    await store.create(volumes, volume('later'));
    await backupToFile(store, path);
    await using second = await copied('copy');
    expect((await second.list(foreignRecords)).items).to.have.length(3);
    await second.verify();
  });

  it('as the original keeps its cluster id and has nothing foreign', async () => {
    await using first = await original();
    await using store = await copied('original');
    expect(store.clusterId).to.equal(first.clusterId);
    expect((await store.list(foreignRecords)).items).to.deep.equal([]);
    expect((await store.list(storageRootRecords)).items).to.have.length(1);
  });

  it('of a copy calls no driver for foreign objects, and releases them without a call', async () => {
    await using _first = await original();
    await using store = await copied('copy');
    const calls: string[] = [];
    const call =
      <R>(name: string, answer: R) =>
      () => {
        calls.push(name);
        return Promise.resolve(answer);
      };
    const driver: Driver = {
      name: 'd',
      capabilities: () => ({
        accessModes: [],
        snapshots: true,
        clone: false,
        expand: true,
        onlineExpand: true,
        blockDevice: false,
        topologyKeys: [],
        sensitiveParameters: [],
        ownsData: true,
      }),
      validateParameters: () => [],
      ...noSnapshots('d'),
      provision: call('provision', { handle: 'h', sizeBytes: 1n }),
      observe: call('observe', { handle: 'h', sizeBytes: 1n }),
      delete: call('delete', undefined),
      attach: call('attach', { devicePath: '' }),
      detach: call('detach', undefined),
      mount: call('mount', { path: '/m' }),
      unmount: call('unmount', undefined),
      expand: call('expand', { sizeBytes: 1n, fileSystemPending: false }),
      createSnapshot: call('createSnapshot', { handle: 'h', restoreSizeBytes: 1n, ready: true }),
      observeSnapshot: call('observeSnapshot', { handle: 'h', restoreSizeBytes: 1n, ready: true }),
      deleteSnapshot: call('deleteSnapshot', undefined),
      restore: call('restore', { handle: 'h', sizeBytes: 1n }),
    };
    const registry = { names: ['d'], onNodes: ['d'], get: () => Promise.resolve(driver) };
    const guard = foreignGuard(registry, { store, logger: silentLogger });
    expect(guard.onNodes).to.deep.equal(['d']);
    const guarded = await guard.get('d');
    if (!guarded) throw new Error('no driver');
    const uidOf = (object: { readonly metadata: { readonly uid: string } } | undefined) =>
      object?.metadata.uid ?? '';
    const of = (uid: string) => ({ uid, name: 'data', namespace: 'default' });
    const foreignVolume = of(uidOf((await store.list(volumes)).items[0]));
    const foreignSnapshot = of(uidOf((await store.list(snapshots)).items[0]));
    const own = of('own');
    const everything = (volumeOf: typeof own, snapshotOf: typeof own) => {
      const common = {
        volume: volumeOf,
        snapshot: { ...snapshotOf, handle: 'h' },
        parameters: {},
        node: 'n',
        signal: new AbortController().signal,
        operations: memoryOperations(),
        handle: 'h',
        sizeBytes: 1n,
        accessMode: 'ReadWriteOnce' as const,
        topology: {},
        devicePath: '',
        mayFormat: false,
        target: '/t',
        readOnly: false,
      } satisfies HandleRequest & Record<string, unknown>;
      const { handle: _, ...fresh } = common;
      return {
        waits: [
          () => guarded.attach(common),
          () => guarded.mount(common),
          () => guarded.expand(common),
        ],
        never: [
          () => guarded.provision(fresh),
          () => guarded.observe(common),
          () => guarded.createSnapshot(common),
          () => guarded.restore(fresh),
        ],
        volumeLetGo: [
          () => guarded.unmount(common),
          () => guarded.detach(common),
          () => guarded.delete(common),
        ],
        snapshotNever: [() => guarded.observeSnapshot(common), () => guarded.restore(fresh)],
        snapshotLetGo: [() => guarded.deleteSnapshot(common)],
      };
    };
    const requireRefused = async (
      kind: DriverError['kind'],
      calling: readonly (() => Promise<unknown>)[],
    ) => {
      for (const each of calling) {
        const error = await each().catch((e: unknown) => e);
        expect(error).to.be.instanceOf(DriverError);
        expect((error as DriverError).kind).to.equal(kind);
        expect((error as DriverError).message).to.include(
          'and this store is a copy of that cluster',
        );
      }
    };
    const ofVolume = everything(foreignVolume, own);
    await requireRefused('Unavailable', ofVolume.waits);
    await requireRefused('Unsupported', ofVolume.never);
    for (const each of ofVolume.volumeLetGo) await each();
    const ofSnapshot = everything(own, foreignSnapshot);
    await requireRefused('Unsupported', ofSnapshot.snapshotNever);
    for (const each of ofSnapshot.snapshotLetGo) await each();
    expect(calls).to.deep.equal([]);

    const mine = everything(own, own);
    const all = [...mine.waits, ...mine.never, ...mine.volumeLetGo, ...mine.snapshotLetGo];
    for (const each of all) await each();
    expect(calls).to.have.length(all.length);
  });

  it('is refused before anything is changed when a sealed value does not open', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const sealer = new Sealer(key);
    await store.create(volumes, {
      ...volume('data'),
      driverParameters: { token: sealer.seal('hunter2', unboundPlace('token')) },
    });
    await store.create(secrets, {
      namespace: 'default',
      name: 's',
      version: 1,
      data: { a: sealer.seal('hunter2', 'secret/default/s/1/a') },
    });
    await backupToFile(store, path);
    const refusal = async (at: KeysAtHand) => {
      let replaced = false;
      const engine = new MemoryEngine();
      const replace = engine.replace.bind(engine);
      engine.replace = (...args) => {
        replaced = true;
        return replace(...args);
      };
      const error = await restoreData({
        path,
        engine,
        keys: at,
        as: 'original',
        replace: true,
      }).then(
        () => undefined,
        (e: unknown) => e as { reason: string; message: string },
      );
      return { reason: error?.reason, message: error?.message ?? '', replaced };
    };
    const absent = await refusal({ type: 'absent', place: '/data/kek' });
    expect(absent).to.include({ reason: 'KeyMissing', replaced: false });
    const other = await refusal({ type: 'found', keys: [Buffer.alloc(32, 2)], place: '/data/kek' });
    expect(other).to.include({ reason: 'KeyMismatch', replaced: false });
    expect(other.message).to.include('/data/kek').and.not.include('hunter2');
    const older = await refusal({ type: 'found', keys: [Buffer.alloc(32, 2), key], place: '' });
    expect(older).to.include({ reason: undefined, replaced: true });
  });
});
