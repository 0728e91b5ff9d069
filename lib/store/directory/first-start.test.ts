import { expect } from 'chai';
import { seededRandom } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { FakeClock, HostileFileSystem, modelDriver } from '../../testing/index.js';
import { backupToFile, type FileSystem, LevelEngine, openStore, restoreBackup } from '../index.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { syncNamesAbove } from './first-start.js';

const things = defineKind<ApiObject>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});
const directory = '/srv/programs/first/data';

describe('first start in a directory that does not exist', () => {
  const engineOn = (files: FileSystem, seed: number): LevelEngine =>
    new LevelEngine({
      directory,
      fileSystem: files,
      driver: modelDriver({ files, random: seededRandom(seed) }),
      clock: new FakeClock(),
    });
  const namesOn = async (files: FileSystem): Promise<readonly string[]> => {
    const store = await openStore({ engine: engineOn(files, 1) });
    const { items } = await store.list(things);
    await store.close();
    return items.map(({ name }) => name);
  };

  for (const names of ['any', 'last'] as const) {
    it(`keeps its first acknowledged write if power is lost right after it (${names})`, async () => {
      for (let seed = 1; seed <= 40; seed += 1) {
        const files = new HostileFileSystem({ random: seededRandom(seed), names });
        const store = await openStore({ engine: engineOn(files, seed) });
        await store.create(things, { name: 'first' });
        files.restart();
        expect(await namesOn(files), `seed ${seed}`).to.deep.equal(['first']);
      }
    });

    it(`keeps it also if an earlier process created the directories and was killed (${names})`, async () => {
      for (let seed = 1; seed <= 40; seed += 1) {
        const files = new HostileFileSystem({ random: seededRandom(seed), names });
        await files.makeDirectory(directory);
        const store = await openStore({ engine: engineOn(files, seed) });
        await store.create(things, { name: 'first' });
        files.restart();
        expect(await namesOn(files), `seed ${seed}`).to.deep.equal(['first']);
      }
    });
  }

  it('keeps the content of a restore', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-first-'));
    try {
      const backup = join(folder, 'backup');
      const source = new HostileFileSystem();
      const store = await openStore({ engine: engineOn(source, 1) });
      await store.create(things, { name: 'restored' });
      await backupToFile(store, backup);
      for (let seed = 1; seed <= 40; seed += 1) {
        const files = new HostileFileSystem({ random: seededRandom(seed) });
        await restoreBackup(backup, engineOn(files, seed));
        files.restart();
        expect(await namesOn(files), `seed ${seed}`).to.deep.equal(['restored']);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  const failingAt = (path: string, code: string): FileSystem => {
    const files = new HostileFileSystem();
    const syncDirectory = (at: string): Promise<void> =>
      at === path
        ? Promise.reject(Object.assign(new Error(code), { code }))
        : files.syncDirectory(at);
    return new Proxy(files, {
      get: (target, name) =>
        name === 'syncDirectory'
          ? syncDirectory
          : (Reflect.get(target, name, target) as (...args: unknown[]) => unknown).bind(target),
    });
  };

  it('skips directories that it may not sync, and fails if the disk fails', async () => {
    for (const code of ['EACCES', 'EROFS', 'EINVAL']) {
      const files = failingAt('/srv', code);
      await files.makeDirectory(directory);
      await syncNamesAbove(files, directory);
    }
    const files = failingAt('/srv', 'EIO');
    await files.makeDirectory(directory);
    const failed: unknown = await syncNamesAbove(files, directory).catch((e: unknown) => e);
    expect((failed as { code?: unknown }).code).to.equal('EIO');
  });
});
