import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { backupToFile, MemoryEngine, openStore, verifyBackup } from '../index.js';

describe('the target file of a backup', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-target-'));
    path = join(folder, 'store.backup');
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function backup(to: string): Promise<unknown> {
    await using store = await openStore({ engine: new MemoryEngine() });
    return backupToFile(store, to).catch((error: unknown) => error);
  }

  it('may be new, empty, or an earlier backup, even a truncated one', async () => {
    await writeFile(path, '');
    await backup(path);
    await verifyBackup(path);
    await backup(path);
    await verifyBackup(path);
    await writeFile(path, (await readFile(path)).subarray(0, 40));
    await backup(path);
    await verifyBackup(path);
  });

  it('is unchanged if it is any other file', async () => {
    const key = join(folder, 'kek');
    for (const content of ['a key', 'k', `\0\0\0\0H{"format":"other`]) {
      await writeFile(key, content);
      expect(await backup(key)).to.include({ reason: 'NotABackup' });
      expect(await readFile(key, 'utf8')).to.equal(content);
    }
    await symlink(key, path);
    const dangling = join(folder, 'dangling');
    await symlink(join(folder, 'nowhere'), dangling);
    for (const target of [path, dangling, folder])
      expect(await backup(target), target).to.include({ reason: 'NotABackup' });
  });

  it('is refused with the directory to use if no file can be at its path', async () => {
    await writeFile(path, '');
    for (const [target, remedy] of [
      [join(path, 'b'), `${path} is not a directory; use a file in a directory`],
      [join(folder, 'none', 'b'), `create the directory ${join(folder, 'none')}`],
    ] as const) {
      const error = await backup(target);
      expect(error, target).to.include({ reason: 'BackupUnwritable' });
      expect(String(error), target).to.contain(remedy);
    }
  });
});
