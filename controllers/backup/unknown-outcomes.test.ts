import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { backupToFile, MemoryEngine, modify, openStore } from 'kedge';
import type { DriverErrorKind } from '@kedge/driver-sdk';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { StorageWorld } from '../testing/storage-world.js';
import { restoreData } from './index.js';

describe('a backup of a volume that was provisioned and used after it', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-restored-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const ofType = (type: string) => (found: StorageClass) => ({ ...found, parameters: { type } });

  /** Restores the backup of a volume whose creation failed; its class has another parameter afterwards. */
  async function restored(error: DriverErrorKind): Promise<StorageWorld> {
    const path = join(folder, 'store.backup');
    const before = await StorageWorld.start();
    before.driver.failsOn = { provision: error };
    await modify(before.store, storageClasses, { name: 'c' }, ofType('first'));
    await before.createVolume();
    await backupToFile(before.store, path);
    await before.stop();
    const engine = new MemoryEngine();
    const keys = { type: 'found', keys: [Buffer.alloc(32, 1)], place: '/data/kek' } as const;
    await restoreData({ path, engine, keys, as: 'original', replace: false });
    const store = await openStore({ engine });
    await modify(store, storageClasses, { name: 'c' }, ofType('other'));
    await store.close();
    return StorageWorld.start({ engine });
  }

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
});
