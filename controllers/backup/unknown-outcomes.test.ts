import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { backupToFile, MemoryEngine, modify, openStore } from 'kedge';
import type { DriverErrorKind } from '@kedge/driver-sdk';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import type { PlayedDriver } from '../testing/played-driver.js';
import { StorageWorld } from '../testing/storage-world.js';
import { restoreData } from './index.js';

describe('a backup of a volume that was provisioned and used after it', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-restored-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const ofType = (type: string) => (found: StorageClass) => ({ ...found, parameters: { type } });

  /** Makes a backup of a volume whose creation failed, and restores it. */
  async function reopened(
    error: DriverErrorKind,
    { meanwhile, reclaimPolicy, type, failsOn = {} }: Partial<Way> = {},
  ): Promise<StorageWorld> {
    const path = join(folder, 'store.backup');
    const before = await StorageWorld.start();
    before.driver.failsOn = { provision: error };
    await modify(before.store, storageClasses, { name: 'c' }, ofType('first'));
    await before.createVolume(reclaimPolicy ? { reclaimPolicy } : {});
    await meanwhile?.(before);
    await backupToFile(before.store, path);
    await before.stop();
    const engine = new MemoryEngine();
    const keys = { type: 'found', keys: [Buffer.alloc(32, 1)], place: '/data/kek' } as const;
    await restoreData({ path, engine, keys, as: 'original', replace: false });
    if (type !== undefined) {
      const store = await openStore({ engine });
      await modify(store, storageClasses, { name: 'c' }, ofType(type));
      await store.close();
    }
    return StorageWorld.start({ engine, failsOn });
  }

  interface Way {
    /** Runs before the backup. */
    readonly meanwhile: (world: StorageWorld) => Promise<void>;
    readonly reclaimPolicy: 'retain' | 'delete';
    /** The parameter of the class after the restore. */
    readonly type: string;
    /** Errors of the driver's calls after the restore. */
    readonly failsOn: PlayedDriver['failsOn'];
  }

  /** Restores the backup of a volume whose creation failed; its class has another parameter afterwards. */
  const restored = (error: DriverErrorKind): Promise<StorageWorld> =>
    reopened(error, { type: 'other' });

  for (const [error, phase] of [
    ['Unavailable', 'Provisioning'],
    ['InvalidParameters', 'Failed'],
  ] as const)
    it(`keeps the data if the volume is ${phase} in the backup and its class changes`, async () => {
      const world = await restored(error);
      try {
        expect(world.driver.calls).to.deep.equal(['observe']);
        expect(await world.volume()).to.include({
          status: 'Available',
          handle: 'h',
          failureMessage: '',
        });
      } finally {
        await world.stop();
      }
    });

  for (const refusal of ['Unavailable', 'InvalidParameters', 'Unsupported'] as const)
    it(`keeps the data that the policy retains if the volume is deleted while its provider answers ${refusal}`, async () => {
      const failsOn = { observe: refusal, provision: refusal, delete: refusal };
      const world = await reopened('Unavailable', { reclaimPolicy: 'retain', failsOn });
      try {
        expect(world.driver.calls).to.include('observe');
        await world.deleteVolume();
        await world.clock.advance(600_000);
        const before = world.driver.calls.length;
        world.driver.failsOn = {};
        await world.clock.advance(3_600_000);
        expect(await world.volume()).to.equal(undefined);
        expect(world.driver.calls.slice(before)).not.to.include('delete');
      } finally {
        await world.stop();
      }
    });

  it('keeps the data if a deletion of remains was open in the backup, and the driver refuses the earlier parameters', async () => {
    const meanwhile = async (world: StorageWorld): Promise<void> => {
      world.driver.failsOn = {};
      world.driver.slow = { delete: 100 };
      await modify(world.store, storageClasses, { name: 'c' }, ofType('second'));
      await world.clock.advance(3_000);
      expect(world.driver.calls).to.include('delete');
      await modify(world.store, storageClasses, { name: 'c' }, ofType('first'));
    };
    const failsOn = { observe: 'InvalidParameters', delete: 'InvalidParameters' } as const;
    const world = await reopened('Unavailable', { meanwhile, failsOn });
    try {
      await world.clock.advance(600_000);
      expect(await world.volume()).to.include({ status: 'Stalled' });
      const before = world.driver.calls.length;
      world.driver.failsOn = { observe: 'InvalidParameters' };
      await modify(world.store, storageClasses, { name: 'c' }, ofType('second'));
      await world.clock.advance(600_000);
      expect(await world.volume()).to.include({ status: 'Available' });
      expect(world.driver.calls.slice(before)).not.to.include('delete');
    } finally {
      await world.stop();
    }
  });
});
