import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hasCode, StatusError } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import {
  backupToFile,
  type DatabaseDriver,
  type FileSystem,
  LevelEngine,
  levelDriver,
  MemoryEngine,
  nodeFileSystem,
  type ObjectStore,
  openStore,
  restoreBackup,
} from '../index.js';

interface Thing extends ApiObject {
  readonly value?: number;
  readonly pad?: string;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});

describe('backup', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-backup-'));
    path = join(folder, 'store.backup');
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function filled(count: number) {
    const store = await openStore({ engine: new MemoryEngine() });
    for (let n = 0; n < count; n += 1)
      await store.create(things, { name: `t${String((n * 7919) % count)}`, value: n });
    return store;
  }

  /** Rewrites the backup as an earlier release wrote it: without a cluster id. */
  async function withoutCluster(): Promise<void> {
    const bytes = await readFile(path);
    const headerEnd = 4 + bytes.readUInt32BE(0);
    const { clusterId: _, ...header } = JSON.parse(bytes.toString('utf8', 5, headerEnd)) as {
      clusterId: string;
    };
    const trailerAt = bytes.lastIndexOf('{"objects"') - 5;
    const head = Buffer.from(`     ${JSON.stringify(header)}`);
    head.writeUInt32BE(head.length - 4);
    head[4] = 0x48;
    const content = Buffer.concat([head, bytes.subarray(headerEnd, trailerAt)]);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const { objects } = JSON.parse(bytes.toString('utf8', trailerAt + 5)) as { objects: number };
    const tail = Buffer.from(`     ${JSON.stringify({ objects, sha256 })}`);
    tail.writeUInt32BE(tail.length - 4);
    tail[4] = 0x54;
    await writeFile(path, Buffer.concat([content, tail]));
  }

  it('a restored store, and a store restored from its backup, have the cluster id of the first', async () => {
    await using first = await filled(3);
    expect(first.clusterId).to.equal(first.storeId);
    await backupToFile(first, path);
    for (const generation of [1, 2]) {
      const directory = join(folder, `generation-${String(generation)}`);
      const restored = await restoreBackup(path, new LevelEngine({ directory }));
      expect(restored.clusterId).to.equal(first.clusterId);
      await using store = await openStore({ engine: new LevelEngine({ directory }) });
      expect(store.clusterId).to.equal(first.clusterId);
      expect(store.storeId).to.not.equal(first.storeId);
      await store.compact();
      const report = await backupToFile(store, path);
      expect(report.clusterId).to.equal(first.clusterId);
    }
  });

  it('of an earlier release, without a cluster id, restores into the cluster of its store', async () => {
    await using store = await filled(3);
    await backupToFile(store, path);
    await withoutCluster();
    const engine = new MemoryEngine();
    const restored = await restoreBackup(path, engine);
    expect(restored.clusterId).to.equal(store.clusterId);
    await using again = await openStore({ engine });
    expect(again.clusterId).to.equal(store.clusterId);
  });

  it('of a running store has one revision, and restores under a new store id, far beyond its revisions', async () => {
    await using store = await filled(1_200);
    await store.deleteByName(things, { name: 't7' });
    const { revision } = store;
    const backup = backupToFile(store, path);
    const later = Promise.all(
      Array.from({ length: 50 }, (_, n) => store.create(things, { name: `later${n}` })),
    );
    const report = await backup;
    await later;
    const at = report.revision;
    expect(at).to.be.within(revision, revision + 50);
    const objects = 1_199 + at - revision;
    expect(report).to.include({ objects, storeId: store.storeId });
    expect((await stat(path)).mode & 0o777).to.equal(0o600);

    for (const engine of [() => new LevelEngine({ directory: folder }), undefined]) {
      const memory = new MemoryEngine();
      const open = engine ?? (() => memory);
      const restored = await restoreBackup(path, open());
      expect(restored).to.include({ revision: at + 2 ** 32, objects });
      await using again = await openStore({ engine: open() });
      expect(again.storeId).to.equal(restored.storeId);
      expect(again.storeId).to.not.equal(store.storeId);
      expect(again.revision).to.equal(restored.revision);
      expect((await again.list(things)).items).to.have.length(objects);
      const { metadata, ...before } = (await store.get(things, { name: 't8' })) as Thing;
      expect(await again.get(things, { name: 't8' })).to.deep.equal({
        ...before,
        metadata: { ...metadata, resourceVersion: String(restored.revision) },
      });
      await again.verify();
      const made = await again.create(things, { name: 'new' });
      expect(Number(made.metadata.resourceVersion)).to.equal(restored.revision + 1);
      await again.compact();
      await again.verify();
    }
  });

  async function watchError(store: ObjectStore, fromRevision: number): Promise<unknown> {
    const { signal } = new AbortController();
    const watch = store.watch(things, { fromRevision, signal });
    return Promise.resolve(watch[Symbol.asyncIterator]().next()).catch((e: unknown) => e);
  }

  for (const kind of ['level', 'memory'] as const) {
    it(`restored twice over one store never reuses a cursor or version of another restore (${kind})`, async () => {
      const memory = new MemoryEngine();
      const directory = join(folder, 'data');
      const engine = () => (kind === 'level' ? new LevelEngine({ directory }) : memory);
      let store = await openStore({ engine: engine() });
      for (let n = 0; n < 20; n += 1) await store.create(things, { name: `t${n}`, value: n });
      await backupToFile(store, path);
      const stores: { revision: number; versions: string[]; storeId: string }[] = [];
      for (let round = 0; round < 3; round += 1) {
        // Written after the backup: known to clients, and lost by the restore.
        for (let n = 0; n < 30; n += 1) {
          const { metadata } = await store.create(things, { name: `l${round}-${n}` });
          expect(Number(metadata.resourceVersion)).to.equal(store.revision);
        }
        const { items } = await store.list(things);
        const versions = items.map((o) => o.metadata.resourceVersion);
        stores.push({ revision: store.revision, versions, storeId: store.storeId });
        await store.close();
        const restored = await restoreBackup(path, engine(), { replace: true });
        expect(restored.revision).to.equal((stores.at(-1)?.revision ?? 0) + 2 ** 32);
        expect(typeof restored.kept).to.equal(kind === 'level' ? 'string' : 'undefined');
        store = await openStore({ engine: engine() });
        // The restored store writes more than the previous one did after the backup.
        for (let n = 0; n < 40; n += 1) {
          await store.create(things, { name: 'more', value: n });
          await store.deleteByName(things, { name: 'more' });
        }
        const object = (await store.get(things, { name: 't1' })) as Thing;
        for (const old of stores) {
          expect(old.storeId).to.not.equal(store.storeId);
          expect(old.versions).to.not.include(object.metadata.resourceVersion);
          for (const resourceVersion of old.versions) {
            const guarded = store.deleteByName(things, { name: 't1' }, { resourceVersion });
            const error = await guarded.catch((e: unknown) => e);
            expect(hasCode(error, 'Aborted')).to.equal(true);
          }
          for (const cursor of [0, 1, old.revision - 1, old.revision, old.revision + 5])
            expect(hasCode(await watchError(store, cursor), 'OutOfRange'), `${cursor}`).to.equal(
              true,
            );
        }
        expect((await store.list(things)).items).to.have.length(20);
      }
      await store.close();
    });
  }

  it('of a store elsewhere is restored beyond the given revision, and refused when revisions are exhausted', async () => {
    await using store = await filled(5);
    await backupToFile(store, path);
    const afterRevision = 7 * 2 ** 32 + 12;
    const { revision } = await restoreBackup(path, new MemoryEngine(), { afterRevision });
    expect(revision).to.equal(8 * 2 ** 32 + 12);
    for (const last of [2 ** 48 - 1, 2 ** 48 - 2 ** 33, Number.MAX_SAFE_INTEGER]) {
      const engine = new MemoryEngine();
      const restore = restoreBackup(path, engine, { afterRevision: last });
      const error = await restore.catch((e: unknown) => e);
      expect(error).to.be.instanceOf(StatusError);
      expect((error as StatusError).reason).to.equal('RevisionsExhausted');
      expect((error as StatusError).message).to.contain(String(last));
      await using empty = await openStore({ engine });
      expect(empty.revision).to.equal(0);
    }
    // At the last possible revision the store still reads and writes.
    const engine = new MemoryEngine();
    const last = 2 ** 48 - 1 - 2 ** 33;
    await restoreBackup(path, engine, { afterRevision: last });
    await using far = await openStore({ engine });
    await far.create(things, { name: 'far' });
    await far.verify();
    for (const wrong of [-1, 0.5, NaN]) {
      const restore = restoreBackup(path, new MemoryEngine(), { afterRevision: wrong });
      expect(hasCode(await restore.catch((e: unknown) => e), 'InvalidArgument')).to.equal(true);
    }
  });

  it('replaces a damaged store, and requires a revision if that of the store is unreadable', async () => {
    const directory = join(folder, 'data');
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    await store.create(things, { name: 'a', value: 1 });
    await backupToFile(store, path);
    await store.close();
    await rm(join(directory, 'db', 'CURRENT'));
    const restored = await restoreBackup(path, new LevelEngine({ directory }), { replace: true });
    expect((await readdir(restored.kept ?? '')).sort()).to.deep.equal(['db', 'high-water']);
    await writeFile(join(directory, 'high-water'), 'nothing legible');
    const restore = restoreBackup(path, new LevelEngine({ directory }), { replace: true });
    const error = await restore.catch((e: unknown) => e);
    expect((error as StatusError).reason).to.equal('RevisionUnknown');
    const again = await restoreBackup(path, new LevelEngine({ directory }), {
      replace: true,
      afterRevision: restored.revision,
    });
    expect(again.revision).to.equal(restored.revision + 2 ** 32);
    expect(again.kept).to.not.equal(restored.kept);
    await using opened = await openStore({ engine: new LevelEngine({ directory }) });
    expect((await opened.get(things, { name: 'a' }))?.value).to.equal(1);
  });

  it('refuses a directory that is not empty', async () => {
    await using store = await filled(1);
    await backupToFile(store, path);
    const memory = new MemoryEngine();
    for (const engine of [
      () => memory,
      () => new LevelEngine({ directory: join(folder, 'data') }),
    ]) {
      await using other = await openStore({ engine: engine() });
      await other.create(things, { name: 'a' });
      await other.close();
      const error = await restoreBackup(path, engine()).catch((e: unknown) => e);
      expect(hasCode(error, 'FailedPrecondition')).to.equal(true);
      expect((error as StatusError).reason).to.equal('NotEmpty');
      await using again = await openStore({ engine: engine() });
      expect((await again.list(things)).items.map((o) => o.name)).to.deep.equal(['a']);
    }
  });

  it('with any byte changed or its end missing is refused, and nothing is restored', async () => {
    await using store = await filled(30);
    await backupToFile(store, path);
    const good = await readFile(path);
    const damaged = join(folder, 'damaged');
    for (let at = 0; at < good.length; at += 97) {
      const bytes = Buffer.from(good);
      bytes[at] = (bytes[at] ?? 0) ^ 0x10;
      await writeFile(damaged, bytes);
      const engine = new MemoryEngine();
      const error = await restoreBackup(damaged, engine).catch((e: unknown) => e);
      expect(
        hasCode(error, 'DataLoss') || hasCode(error, 'FailedPrecondition'),
        `byte ${at}: ${String(error)}`,
      ).to.equal(true);
      for await (const chunk of engine.scan(0)) expect(chunk).to.deep.equal([]);
    }
    for (const length of [0, 3, 50, good.length - 1]) {
      await writeFile(damaged, good.subarray(0, length));
      const error = await restoreBackup(damaged, new MemoryEngine()).catch((e: unknown) => e);
      expect(hasCode(error, 'DataLoss'), `cut at ${length}`).to.equal(true);
    }
  });

  it('written twice concurrently to one path leaves one complete backup', async () => {
    await using store = await filled(40);
    const pad = 'x'.repeat(50_000);
    for (let n = 0; n < 40; n += 1) await store.overwrite(things, { name: `t${n}`, pad });
    const longer = backupToFile(store, path);
    for (let n = 2; n < 40; n += 1) void store.deleteByName(things, { name: `t${n}` });
    await store.transact([]);
    const reports = await Promise.all([longer, backupToFile(store, path)]);
    const { objects } = await restoreBackup(path, new MemoryEngine());
    expect(reports.map((report) => report.objects)).to.include(objects);
    expect(await readdir(folder)).to.deep.equal(['store.backup']);
  });

  it('that is refused over a running store writes nothing there', async () => {
    await using store = await filled(1);
    await backupToFile(store, path);
    const directory = join(folder, 'data');
    const running = new LevelEngine({ directory });
    await using owner = await openStore({ engine: running });
    await owner.create(things, { name: 'a' });
    await running.confirm(owner.revision);
    const mark = join(directory, 'high-water');
    const before = await readFile(mark, 'utf8');
    const written: string[] = [];
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      open: async (file, mode) => {
        if (mode !== 'r') written.push(file);
        return nodeFileSystem.open(file, mode);
      },
    };
    const engine = new LevelEngine({ directory, fileSystem });
    const refused: unknown = await restoreBackup(path, engine).catch((error: unknown) => error);
    expect((refused as StatusError).reason).to.equal('DirectoryLocked');
    expect(written).to.deep.equal([]);
    expect(await readFile(mark, 'utf8')).to.equal(before);
  });

  it('is refused if another process wrote to the empty directory before it was locked', async () => {
    await using store = await filled(1);
    await backupToFile(store, path);
    const directory = join(folder, 'data');
    await (await openStore({ engine: new LevelEngine({ directory }) })).close();
    const driver: DatabaseDriver = {
      ...levelDriver,
      // Another process had the directory until now.
      lock: async (at) => {
        const owner = await openStore({ engine: new LevelEngine({ directory }) });
        await owner.create(things, { name: 'kept' });
        await owner.close();
        return levelDriver.lock(at);
      },
    };
    const refused: unknown = await restoreBackup(
      path,
      new LevelEngine({ directory, driver }),
    ).catch((error: unknown) => error);
    expect((refused as StatusError).reason, String(refused)).to.equal('NotEmpty');
    await using after = await openStore({ engine: new LevelEngine({ directory }) });
    expect((await after.list(things)).items.map(({ name }) => name)).to.deep.equal(['kept']);
  });

  it('that cannot be restored over an interrupted first start leaves a store with an id', async () => {
    await using store = await filled(1);
    await backupToFile(store, path);
    const directory = join(folder, 'data');
    await mkdir(join(directory, 'db'), { recursive: true });
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      makeDirectory: async (made) => {
        if (made.endsWith('restoring')) throw new Error('ENOSPC');
        await nodeFileSystem.makeDirectory(made);
      },
    };
    const engine = new LevelEngine({ directory, fileSystem });
    const failed: unknown = await restoreBackup(path, engine).catch((error: unknown) => error);
    expect(String(failed)).to.contain('ENOSPC');
    await using started = await openStore({ engine: new LevelEngine({ directory }) });
    expect(started.storeId).to.match(/^[\w-]{36}$/);
  });

  it('to a directory that does not exist is refused', async () => {
    await using store = await filled(3);
    const missing = join(folder, 'nowhere', 'x');
    const error = await backupToFile(store, missing).catch((e: unknown) => e);
    expect(String(error)).to.contain('ENOENT');
  });
});
