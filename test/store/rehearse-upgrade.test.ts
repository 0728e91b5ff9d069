import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { LevelEngine, nodeFileSystem, openStore, rehearseUpgrade, StatusError } from 'kedge';
import { fixtureManifest, type LibraryManifest, unpackFixture } from '../fixtures/unpack.js';

const interrupted = 'schema-2/library-interrupted';

/** Names and contents of the files of a store, except those of its lock. */
async function contents(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path);
    if (entry.isFile() && !name.startsWith('lock')) found[name] = await readFile(path, 'base64');
  }
  return found;
}

describe('the rehearsal of an upgrade', () => {
  let directory: string;
  let scratch: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-rehearsal-'));
    scratch = await mkdtemp(join(tmpdir(), 'kedge-scratch-'));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true, force: true });
    await rm(scratch, { recursive: true, force: true });
  });

  it('reports the changes of the migration, and changes nothing in the directory', async () => {
    await unpackFixture(interrupted, directory);
    await writeFile(join(directory, 'kek'), 'test data');
    const manifest = await fixtureManifest<LibraryManifest>(interrupted);
    const before = await contents(directory);
    const report = await rehearseUpgrade(directory, { scratch, copiedBeforeMigration: ['kek'] });
    expect(await contents(directory)).to.deep.equal(before);
    expect(await readdir(scratch)).to.deep.equal([]);
    expect(report).to.include({ from: 2, to: 3, revision: manifest.revision });
    expect(report.removedRecords).to.be.greaterThan(0);
    expect(report.changes).to.have.length(1);
    expect(report.copy?.names).to.deep.equal(['db', 'high-water', 'kek']);

    const store = await openStore({ engine: new LevelEngine({ directory }) });
    const { objects, records, revision } = await store.verify();
    expect({ objects, records, revision }).to.deep.equal({
      objects: report.objects,
      records: report.records - report.removedRecords,
      revision: report.revision,
    });
    expect(store.migration?.copy).to.equal(report.copy?.path);
    await store.close();
  });

  it('finds nothing to migrate in a store of this release', async () => {
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    await store.close();
    const report = await rehearseUpgrade(directory, { scratch });
    expect(report).to.include({ from: 3, to: 3, removedRecords: 0, objects: 0 });
    expect(report.copy).to.equal(undefined);
  });

  it('is refused while another holder has the store open', async () => {
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    const error: unknown = await rehearseUpgrade(directory, { scratch }).catch((e: unknown) => e);
    await store.close();
    expect(error).to.be.instanceOf(StatusError).and.include({ reason: 'DirectoryLocked' });
  });

  it('is refused without space for the copy in the data directory', async () => {
    await unpackFixture(interrupted, directory);
    const fileSystem = {
      ...nodeFileSystem,
      freeBytes: async (path: string) => (path === directory ? 1_000_000 : undefined),
    };
    const error: unknown = await rehearseUpgrade(directory, { scratch, fileSystem }).catch(
      (e: unknown) => e,
    );
    expect(error).to.include({ reason: 'NoRoomForCopy' });
    expect(await readdir(scratch)).to.deep.equal([]);
  });

  it('names the directory of the copy if that has no space for the migration', async () => {
    await unpackFixture(interrupted, directory);
    const fileSystem = {
      ...nodeFileSystem,
      freeBytes: async (path: string) => (path.startsWith(scratch) ? 1_000_000 : undefined),
    };
    const error: unknown = await rehearseUpgrade(directory, { scratch, fileSystem }).catch(
      (e: unknown) => e,
    );
    expect(error).to.include({ reason: 'ScratchUnwritable' });
    expect(String(error)).to.include(`the database in ${scratch}`);
    expect(await readdir(scratch)).to.deep.equal([]);
  });

  it('is refused for a damaged store, and the error names the store instead of the copy', async () => {
    await unpackFixture('schema-2/library', directory);
    const [table = ''] = (await readdir(join(directory, 'db'))).filter((n) => n.endsWith('.ldb'));
    const path = join(directory, 'db', table);
    const bytes = await readFile(path);
    bytes.fill(0, 9_000, 9_500);
    await writeFile(path, bytes);
    const error: unknown = await rehearseUpgrade(directory, { scratch }).catch((e: unknown) => e);
    expect(error).to.include({ code: 'DataLoss' });
    expect(String(error)).to.include(directory).and.not.include(scratch);
  });

  it("names the directory of the copy that can't be written", async () => {
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    await store.close();
    const full = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    const fileSystem = { ...nodeFileSystem, copyFile: () => Promise.reject(full) };
    const error: unknown = await rehearseUpgrade(directory, { scratch, fileSystem }).catch(
      (e: unknown) => e,
    );
    expect(error).to.include({ reason: 'ScratchUnwritable' });
    expect(String(error)).to.include(`${directory} can't be copied to ${scratch}`);
    expect(await readdir(scratch)).to.deep.equal([]);
  });
});
