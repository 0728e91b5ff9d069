import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import {
  findCondition,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
} from 'kedge';
import { FakeClock, reachState, RecordingLogger, settle } from 'kedge/testing';
import { secrets } from '../../secret/kind.js';
import { services } from '../../service/kind.js';
import { snapshots } from '../../snapshot/kind.js';
import { type Volume, type VolumePhase, volumes } from '../kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { serviceController } from '../../service/index.js';
import { snapshotFinalizer } from '../../snapshot/index.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { volumeFinalizer } from '../admission.js';
import { volumeController } from '../reconcile/controller.js';
import { deleteUnused } from './in-use.js';

const volumeKey = { namespace: 'default', name: 'v' };
const snapshotKey = { namespace: 'default', name: 's' };

async function createSnapshot(store: ObjectStore, volume = 'v'): Promise<void> {
  await store.create(snapshots, {
    ...snapshotKey,
    source: { volume },
    metadata: { finalizers: [snapshotFinalizer] },
  });
}

describe('a volume that a controller deletes', () => {
  describe('in the commit', () => {
    let store: ObjectStore;
    beforeEach(async () => {
      store = await openStore({ engine: new MemoryEngine() });
      await store.create(volumes, {
        ...volumeKey,
        storageClassName: 'c',
        size: '1Gi',
        accessMode: 'ReadWriteOnce',
        metadata: { finalizers: [volumeFinalizer] },
      });
    });
    afterEach(() => store.close());

    const volume = async (): Promise<Volume> => (await store.get(volumes, volumeKey))!;
    const isAsked = async (): Promise<boolean> =>
      (await volume()).metadata.deletionRequestedAt !== undefined;
    /** Returns the store for a writer. It runs `other` between the reads and each commit of the writer. */
    const overtaken = (other: () => Promise<unknown>): ObjectStore =>
      Object.assign(Object.create(store) as ObjectStore, {
        list: store.list.bind(store),
        transact: async (operations: Parameters<ObjectStore['transact']>[0]) => {
          await other();
          return store.transact(operations);
        },
      });

    it('stays if it is claimed at the same time', async () => {
      await reachState(store, volumes, volumeKey, 'Available', { handle: 'h' });
      const attachments = [{ claim: 'default/i', node: 'n', state: 'Reserved' }] as const;
      const taken = overtaken(() => store.updateStatus(volumes, volumeKey, { attachments }));
      const refused = await deleteUnused(taken, await volume()).catch((error: unknown) => error);
      expect(refused).to.include({ code: 'Aborted' });
      expect(await isAsked()).to.equal(false);
    });

    it('gets a deletion request if nothing blocks it', async () => {
      expect(await deleteUnused(store, await volume())).to.equal(undefined);
      expect(await isAsked()).to.equal(true);
    });

    it('is not deleted while a snapshot of it waits to begin', async () => {
      await createSnapshot(store);
      expect(await deleteUnused(store, await volume())).to.contain('snapshot "default/s"');
      expect(await isAsked()).to.equal(false);
    });

    it('is not deleted while an instance uses it', async () => {
      await reachState(store, volumes, volumeKey, 'Bound', { boundClaim: 'web/0' });
      expect(await deleteUnused(store, await volume())).to.contain('is bound to web/0');
      expect(await isAsked()).to.equal(false);
    });

    it('does not wait for a snapshot that has begun, or that is being deleted itself', async () => {
      await createSnapshot(store);
      await store.updateStatus(snapshots, snapshotKey, { status: 'Creating' });
      await store.create(snapshots, {
        ...snapshotKey,
        name: 'leaving',
        source: { volume: 'v' },
        metadata: { finalizers: [snapshotFinalizer] },
      });
      await store.deleteByName(snapshots, { ...snapshotKey, name: 'leaving' });
      expect(await deleteUnused(store, await volume())).to.equal(undefined);
      expect(await isAsked()).to.equal(true);
    });

    for (const [what, prepare, overtake] of [
      ['is created', () => Promise.resolve(), () => createSnapshot(store)],
      [
        'is retried',
        async () => {
          await createSnapshot(store);
          await store.updateStatus(snapshots, snapshotKey, { status: 'Failed' });
        },
        () => store.updateStatus(snapshots, snapshotKey, { status: 'Pending' }),
      ],
    ] as const)
      it(`is not deleted, because of a conflict, when a snapshot of it ${what} at the same time`, async () => {
        await prepare();
        const failed = await deleteUnused(overtaken(overtake), await volume()).catch(
          (error: unknown) => error,
        );
        expect(failed).to.include({ code: 'Aborted', reason: 'Conflict' });
        expect(await isAsked()).to.equal(false);
      });
  });

  describe('by the triggers of its controller', () => {
    const clock = new FakeClock();
    const random = seededRandom(1);
    const logger = new RecordingLogger();
    let driver: PlayedDriver;
    let store: ObjectStore;
    let manager: Manager;

    beforeEach(async () => {
      driver = new PlayedDriver();
      store = await openStore({ engine: new MemoryEngine(), clock });
      manager = new Manager({ store, clock, random });
    });
    afterEach(async () => {
      const stopping = manager.stop(0);
      await clock.advance(10_000);
      await stopping;
      await store.close();
    });

    async function createCopied(
      name: string,
      phase: VolumePhase,
      more: Partial<Volume>,
    ): Promise<void> {
      await store.create(volumes, {
        ...more,
        namespace: 'default',
        name,
        storageClassName: 'c',
        size: '1Gi',
        accessMode: 'ReadWriteOnce',
        metadata: { finalizers: [volumeFinalizer] },
      });
      await reachState(store, volumes, { namespace: 'default', name }, phase, {
        ownerService: 'default/db',
        driver: 'played',
        handle: 'h',
      });
      await createSnapshot(store, name);
    }

    it('is kept until its snapshot is created, and reports it, if its service was deleted', async () => {
      await createCopied('v', 'Released', { reclaimPolicy: 'delete' });
      const resolver = parameterResolver(
        manager.informer(secrets).lister,
        new Sealer(randomBytes(32)),
      );
      const drivers = driver.registry();
      const common = { store, manager, clock, random, logger, drivers, resolver };
      // No snapshot controller runs, so the copy begins only when the test begins it.
      manager.addController(volumeController({ ...common, node: 'n', policy: defaultPolicy }));
      await manager.start();
      await settle();
      const kept = await store.get(volumes, volumeKey);
      expect(kept?.metadata.deletionRequestedAt).to.equal(undefined);
      const { message } = findCondition(kept?.conditions, 'Bound') ?? {};
      expect(message).to.contain('source of snapshot "default/s", which is not created yet');
      expect(driver.calls).to.deep.equal([]);

      await reachState(store, snapshots, snapshotKey, 'Ready');
      await settle();
      expect(await store.get(volumes, volumeKey)).to.equal(undefined);
      expect(driver.calls).to.deep.equal(['delete']);
    });

    it('is kept until its snapshot begins, where its service was scaled down', async () => {
      const claimTemplate = {
        size: '1Gi',
        accessMode: 'ReadWriteOnce',
        retention: { whenScaled: 'delete' },
      } as const;
      await store.create(services, {
        namespace: 'default',
        name: 'db',
        scale: 0,
        volumes: [{ name: 'data', mountPath: '/data', claimTemplate }],
      });
      await createCopied('data-db-0', 'Available', {});
      const lister = manager.informer(secrets).lister;
      const resolver = parameterResolver(lister, new Sealer(randomBytes(32)));
      const ports = { store, manager, clock, random, logger, resolver };
      manager.addController(serviceController({ ...ports, policy: defaultPolicy }));
      await manager.start();
      await settle();
      const isAsked = async (): Promise<boolean> =>
        (await store.get(volumes, { namespace: 'default', name: 'data-db-0' }))?.metadata
          .deletionRequestedAt !== undefined;
      expect(await isAsked()).to.equal(false);

      await store.updateStatus(snapshots, snapshotKey, { status: 'Creating' });
      await settle();
      expect(await isAsked()).to.equal(true);
    });
  });
});
