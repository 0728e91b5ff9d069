import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { seededRandom } from '../../base/index.js';
import { HostileFileSystem } from '../../testing/index.js';
import {
  copyTree,
  type FileSystem,
  nodeFileSystem,
  systemErrorCode,
  treeBytes,
} from './file-system.js';

async function code(work: Promise<unknown>): Promise<string | undefined> {
  return systemErrorCode(await work.catch((error: unknown) => error));
}

describe('file system', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-files-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const systems: readonly [string, () => FileSystem][] = [
    ['the machine', () => nodeFileSystem],
    ['memory', () => new HostileFileSystem()],
  ];
  for (const [name, make] of systems) {
    it(`of ${name}: opens by mode, reads and writes by position, and reports missing files`, async () => {
      const files = make();
      const directory = join(folder, 'a', 'b');
      await files.makeDirectory(directory);
      await files.makeDirectory(directory);
      const path = join(directory, 'file');
      expect(await code(files.open(path, 'r'))).to.equal('ENOENT');
      expect(await code(files.open(path, 'r+'))).to.equal('ENOENT');
      expect(await code(files.readFile(path))).to.equal('ENOENT');
      expect(await code(files.readDirectory(join(folder, 'none')))).to.equal('ENOENT');
      expect(await files.exists(path)).to.equal(false);
      const file = await files.open(path, 'wx');
      expect(await code(files.open(path, 'wx'))).to.equal('EEXIST');
      await file.write(Buffer.from('0123456789'), 0);
      await file.write(Buffer.from('ab'), 12);
      await file.write(Buffer.from('xy'), 3);
      await file.sync();
      await file.close();
      expect(await files.size(path)).to.equal(14);
      const again = await files.open(path, 'r+');
      expect((await again.read(2, 4)).toString()).to.equal('2xy5');
      expect(await again.read(10, 100)).to.deep.equal(Buffer.from('\0\0ab'));
      expect(await again.read(50, 1)).to.have.length(0);
      await again.write(Buffer.from('Z'), 0);
      await again.close();
      expect((await files.readFile(path)).toString('latin1', 0, 3)).to.equal('Z12');
      await (await files.open(path, 'w')).close();
      expect(await files.size(path)).to.equal(0);
      await files.rename(path, join(directory, 'other'));
      expect(await files.readDirectory(directory)).to.deep.equal([{ name: 'other', type: 'file' }]);
      await files.syncDirectory(directory);
      await files.remove(join(folder, 'a'));
      await files.remove(join(folder, 'a'));
      expect(await files.exists(directory)).to.equal(false);
    });
  }

  it('of the machine creates files and directories for the owner only', async () => {
    const directory = join(folder, 'd');
    await nodeFileSystem.makeDirectory(directory);
    await (await nodeFileSystem.open(join(directory, 'f'), 'w')).close();
    expect((await stat(directory)).mode & 0o777).to.equal(0o700);
    expect((await stat(join(directory, 'f'))).mode & 0o777).to.equal(0o600);
  });

  it('copies a whole directory except LOCK, which must not be opened, and returns its size', async () => {
    const from = join(folder, 'from');
    await mkdir(join(from, 'db'), { recursive: true });
    await writeFile(join(from, 'high-water'), 'mark');
    await writeFile(join(from, 'db', '000003.log'), Buffer.alloc(3_000, 7));
    await writeFile(join(from, 'db', 'LOCK'), '');
    const to = join(folder, 'to');
    await copyTree(nodeFileSystem, from, to);
    expect((await readdir(to, { recursive: true })).sort()).to.deep.equal([
      'db',
      'db/000003.log',
      'high-water',
    ]);
    expect(await readFile(join(to, 'db', '000003.log'))).to.deep.equal(Buffer.alloc(3_000, 7));
    expect(await treeBytes(nodeFileSystem, from)).to.equal(3_004);
  });

  it('a copy survives a power loss once its name is synced', async () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const files = new HostileFileSystem({ random: seededRandom(seed) });
      await files.makeDirectory('/from/db');
      const file = await files.open('/from/db/table', 'w');
      await file.write(Buffer.alloc(5_000, 3), 0);
      await copyTree(files, '/from', '/to');
      await files.syncDirectory('/');
      files.restart();
      expect(await files.readFile('/to/db/table')).to.deep.equal(Buffer.alloc(5_000, 3));
    }
  });

  it('in memory loses or tears unsynced content at a power loss, depending on its seed', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 300; seed += 1) {
      const files = new HostileFileSystem({ random: seededRandom(seed) });
      await files.makeDirectory('/d');
      await files.syncDirectory('/');
      const kept = await files.open('/d/kept', 'w');
      await kept.write(Buffer.alloc(2_048, 1), 0);
      await kept.sync();
      await files.syncDirectory('/d');
      await kept.write(Buffer.alloc(2_048, 2), 0);
      await files.open('/d/unsynced', 'w');
      files.restart();
      expect(await code(kept.read(0, 1)), 'a handle from before the restart').to.equal('EBADF');
      const content = await files.readFile('/d/kept');
      expect(content).to.have.length(2_048);
      const values = new Set(content);
      outcomes.add(`content ${[...values].sort().join()}`);
      outcomes.add(`name ${String(await files.exists('/d/unsynced'))}`);
    }
    expect([...outcomes].sort()).to.deep.equal([
      'content 1',
      'content 1,2',
      'content 2',
      'name false',
      'name true',
    ]);
  });

  it('in memory fails at the configured call, and when its capacity is used up', async () => {
    const files = new HostileFileSystem({ capacityBytes: 1_000 });
    files.faultAt(2, { type: 'error', code: 'EIO' });
    await files.makeDirectory('/d');
    expect(await code(files.makeDirectory('/e'))).to.equal('EIO');
    expect(await files.exists('/e')).to.equal(false);
    files.faultAt(files.calls + 1, { type: 'errorAfter', code: 'EIO' });
    expect(await code(files.makeDirectory('/f'))).to.equal('EIO');
    expect(await files.exists('/f')).to.equal(true);
    const file = await files.open('/d/file', 'w');
    await file.write(Buffer.alloc(900), 0);
    expect(await files.freeBytes()).to.equal(100);
    expect(await code(file.write(Buffer.alloc(200), 900))).to.equal('ENOSPC');
    files.faultAt(files.calls + 1, { type: 'powerLoss' });
    expect(await code(file.sync())).to.equal('EIO');
    expect(files.dead).to.equal(true);
    expect(await code(files.exists('/d'))).to.equal('EIO');
  });
});
