import { expect } from 'chai';
import { modify } from 'kedge';
import { settle } from 'kedge/testing';
import { abandonAnnotation } from '../messages/abandoned-deletion.js';
import { StorageWorld } from '../testing/storage-world.js';
import { snapshotFinalizer } from './admission.js';
import { type Snapshot, snapshots } from './kind.js';

const key = { namespace: 'default', name: 's' };
const hour = 3_600_000;

/** Answers that do not show the outcome of an earlier call. */
const kinds = [
  'Unavailable',
  'InvalidParameters',
  'CredentialsRejected',
  'PermissionDenied',
  'Throttled',
] as const;

describe('a snapshot whose calls get no credential', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.createVolume();
    world.driver.made.clear();
  });
  afterEach(() => world.stop());

  const snapshot = async (): Promise<Snapshot | undefined> => world.store.get(snapshots, key);
  const create = async (more: Partial<Snapshot> = {}): Promise<void> => {
    const metadata = { finalizers: [snapshotFinalizer] };
    await world.store.create(snapshots, { ...key, source: { volume: 'v' }, metadata, ...more });
    await settle();
  };
  const remove = async (): Promise<void> => {
    await world.store.deleteByName(snapshots, key);
    await settle();
  };
  const retain = async (): Promise<void> => {
    const reclaimPolicy = 'retain' as const;
    await modify(world.store, snapshots, key, (found) => ({ ...found, reclaimPolicy }));
    await settle();
  };
  const failing = (kind: (typeof kinds)[number]): void => {
    world.driver.failsOn = { createSnapshot: kind, deleteSnapshot: kind };
    world.driver.failsWith =
      kind === 'Unavailable'
        ? 'the class has no accessKeyId, and nothing answers'
        : kind === 'InvalidParameters'
          ? 'parameter apiToken: secret default/s does not exist; create it'
          : 'no such key';
  };
  /** The provider answers again, and the deletion is completed. */
  const answered = async (): Promise<void> => {
    world.driver.failsOn = {};
    world.driver.slow = {};
    await world.clock.advance(hour);
    expect(await snapshot()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(0);
  };

  for (const [kind, isRemoved] of [
    ['Unavailable', false],
    ['InvalidParameters', false],
    ['CredentialsRejected', true],
  ] as const)
    it(`${isRemoved ? 'is removed' : 'stays'} under retain while its creation has no known end, ${kind}`, async () => {
      world.driver.slow = { createSnapshot: 1_000 };
      await create({ reclaimPolicy: 'retain' });
      world.driver.made.add((await snapshot())?.metadata.uid ?? '');
      failing(kind);
      await world.clock.advance(hour);
      expect(await snapshot()).to.include({ status: 'Failed', reason: kind });
      await remove();
      await world.clock.advance(hour);
      expect((await snapshot()) === undefined).to.equal(isRemoved);
      if (!isRemoved) await answered();
    });

  const annotate = async (value: string): Promise<void> => {
    const annotations = { [abandonAnnotation]: value };
    await modify(world.store, snapshots, key, (found) => ({
      ...found,
      metadata: { ...found.metadata, annotations },
    }));
    await settle();
    await world.clock.advance(hour);
  };

  for (const kind of ['Unavailable', 'InvalidParameters'] as const)
    it(`is removed by its annotation while its creation has no known end, ${kind}`, async () => {
      world.driver.slow = { createSnapshot: 1_000 };
      await create({ reclaimPolicy: 'retain' });
      failing(kind);
      await world.clock.advance(hour);
      await remove();
      await world.clock.advance(hour);
      await annotate('another uid');
      await annotate((await snapshot())?.metadata.uid ?? '');
      expect(await snapshot()).to.equal(undefined);
    });

  it("is removed by its annotation if the operation of its creation can't be read", async () => {
    world.driver.failsOn = { createSnapshot: 'Timeout', deleteSnapshot: 'Timeout' };
    world.driver.failsWith = "operation 1 can't be observed: forbidden";
    await create();
    const { uid = '' } = (await snapshot())?.metadata ?? {};
    await annotate(uid);
    expect(await snapshot(), 'it is not being deleted').to.include({ status: 'Creating' });
    await annotate('another uid');
    await remove();
    await retain();
    await world.clock.advance(hour);
    expect(await snapshot()).to.include({ status: 'Creating' });
    await annotate(uid);
    expect(await snapshot()).to.equal(undefined);
  });

  for (const kind of kinds)
    it(`stays under retain while the provider carries out a deletion that it accepted, ${kind}`, async () => {
      await create();
      world.driver.slow = { deleteSnapshot: 1 };
      await remove();
      failing(kind);
      await world.clock.advance(hour);
      await retain();
      await world.clock.advance(hour);
      expect(await snapshot()).to.include({ handle: 's' });
      await answered();
    });

  for (const kind of ['Unavailable', 'InvalidParameters'] as const)
    it(`stays under retain after a deletion without an answer, ${kind}`, async () => {
      await create();
      world.driver.failsOn = { deleteSnapshot: 'Timeout' };
      await remove();
      failing(kind);
      await world.clock.advance(hour);
      expect((await snapshot())?.failureMessage).to.not.contain('retain');
      await retain();
      await world.clock.advance(hour);
      expect(await snapshot()).to.include({ handle: 's' });
      await answered();
    });

  it('stays under retain after a kill during a deletion, without a credential since', async () => {
    const killed = async (): Promise<void> => {
      world.driver.onCall = undefined;
      failing('Unavailable');
      await world.restartDuringCall();
      await world.clock.advance(hour);
    };
    const hang = (): void => {
      world.driver.failsOn = {};
      world.driver.onCall = (call) =>
        call === 'deleteSnapshot' ? new Promise(() => undefined) : Promise.resolve();
    };
    for (const isAgain of [false, true]) {
      await create();
      if (isAgain) failing('Unavailable');
      else hang();
      await remove();
      if (isAgain) {
        await world.clock.advance(hour);
        hang();
        await world.clock.advance(hour);
      }
      await killed();
      await retain();
      await world.clock.advance(hour);
      expect(await snapshot()).to.include({ handle: 's' });
      await answered();
    }
  });

  for (const isKilled of [false, true])
    it(`without a handle is removed under retain, ${isKilled ? 'also after a kill during its deletion' : 'as no call did anything'}`, async () => {
      failing('Unavailable');
      await create({ reclaimPolicy: 'retain' });
      await world.clock.advance(hour);
      if (isKilled)
        world.driver.onCall = (call) =>
          call === 'deleteSnapshot' ? new Promise(() => undefined) : Promise.resolve();
      await remove();
      if (isKilled) {
        world.driver.onCall = undefined;
        await world.restartDuringCall();
      }
      await world.clock.advance(hour);
      expect(await snapshot()).to.equal(undefined);
    });

  for (const kind of ['PermissionDenied', 'Throttled', 'InUse', 'CredentialsRejected'] as const)
    it(`stays under retain after a kill during a deletion that had been refused before, ${kind}`, async () => {
      await create();
      world.driver.failsOn = { deleteSnapshot: kind };
      world.driver.failsWith = 'no such key';
      await remove();
      await world.clock.advance(hour);
      world.driver.failsOn = {};
      let calls = 0;
      world.driver.onCall = (call) => {
        if (call !== 'deleteSnapshot') return Promise.resolve();
        calls += 1;
        return new Promise(() => undefined);
      };
      await world.clock.advance(hour);
      expect(calls).to.equal(1);
      await retain();
      world.driver.onCall = undefined;
      world.driver.failsOn = { deleteSnapshot: 'Timeout' };
      await world.restartDuringCall();
      await world.clock.advance(hour);
      expect(await snapshot()).to.include({ handle: 's' });
      await answered();
    });

  for (const kind of kinds)
    it(`is removed under retain if no call did anything, and its copy stays, ${kind}`, async () => {
      await create();
      failing(kind);
      await remove();
      await world.clock.advance(hour);
      await retain();
      await world.clock.advance(hour);
      expect(await snapshot()).to.equal(undefined);
      expect(world.driver.made.size).to.equal(1);
    });
});
