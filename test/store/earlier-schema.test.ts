import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import {
  type ApiObject,
  defineKind,
  type FileSystem,
  hasCode,
  type Kind,
  LevelEngine,
  type LevelEngineOptions,
  nodeFileSystem,
  type EmbeddedStore,
  openStore,
  silentLogger,
} from 'kedge';
import { Level } from 'level';
import { fixtureManifest, type LibraryManifest, unpackFixture } from '../fixtures/unpack.js';

const widgets = defineKind<ApiObject>({
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
  statusFields: [],
});
const sites = defineKind<ApiObject>({
  kind: 'Site',
  plural: 'sites',
  scope: 'Cluster',
  statusFields: [],
});
const kinds = [widgets, sites];

async function eventsAfter(
  store: EmbeddedStore,
  kind: Kind<ApiObject>,
  revision: number,
): Promise<unknown> {
  const found: unknown[] = [];
  const stop = new AbortController();
  const from = { fromRevision: revision, signal: stop.signal, bookmarkMs: 1 };
  for await (const batch of store.watch(kind, from)) {
    for (const event of batch.events)
      found.push({ revision: event.revision, type: event.type, name: event.object.name });
    if (batch.revision >= store.revision) stop.abort();
  }
  return found;
}

describe('a data directory of schema version 2', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-schema-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  for (const name of ['schema-2/library', 'schema-2/library-interrupted']) {
    it(`opens with its objects, revision and history: ${name}`, async () => {
      await unpackFixture(name, directory);
      const manifest = await fixtureManifest<LibraryManifest>(name);
      const store = await openStore({ engine: new LevelEngine({ directory }) });
      expect(store.storeId).to.equal(manifest.storeId);
      expect(store.clusterId, 'the store begins the cluster').to.equal(manifest.storeId);
      expect(store.revision).to.equal(manifest.revision);
      await store.verify();
      const mark = manifest.checkpoint.revision;
      for (const kind of kinds) {
        expect((await store.list(kind)).items).to.deep.equal(manifest.objects[kind.kind]);
        expect(await eventsAfter(store, kind, mark)).to.deep.equal(manifest.events[kind.kind]);
      }
      const before = store.watch(widgets, {
        fromRevision: mark - 1,
        signal: new AbortController().signal,
      });
      const refused: unknown = await before[Symbol.asyncIterator]()
        .next()
        .catch((error: unknown) => error);
      expect(hasCode(refused, 'OutOfRange')).to.equal(true);
      await store.close();
    });

    it(`works like any other: writes, compactions and another opening, ${name}`, async () => {
      await unpackFixture(name, directory);
      const manifest = await fixtureManifest<LibraryManifest>(name);
      const open = (): Promise<EmbeddedStore> =>
        openStore({
          engine: new LevelEngine({ directory }),
          historyEvents: 0,
          historyAgeMs: -1_000,
        });
      let store = await open();
      for (let n = 0; n < 20; n += 1)
        await store.create(widgets, { namespace: 'default', name: `new-${n}` });
      await store.compact();
      await store.verify();
      await store.close();
      store = await open();
      expect(store.revision).to.equal(manifest.revision + 20);
      const names = (await store.list(widgets)).items.map((item) => item.name);
      const kept = (manifest.objects['Widget'] ?? []).map((item) => item.name);
      const made = Array.from({ length: 20 }, (_, n) => `new-${n}`);
      expect([...names].sort()).to.deep.equal([...kept, ...made].sort());
      await store.verify();
      await store.close();
    });
  }

  const widgetsOf = async (store: EmbeddedStore): Promise<unknown> =>
    (await store.list(widgets)).items;
  const open = (at: string, options: Partial<LevelEngineOptions> = {}): Promise<EmbeddedStore> =>
    openStore({ engine: new LevelEngine({ directory: at, ...options }) });
  const interrupted = 'schema-2/library-interrupted';
  /** Names and contents of the files in a folder. */
  const contents = async (folder: string): Promise<Record<string, string>> => {
    const found: Record<string, string> = {};
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) found[relative(folder, path)] = await readFile(path, 'base64');
    }
    return found;
  };

  it('is migrated after a copy, which is reported with the rollback steps, and is not migrated twice', async () => {
    await unpackFixture(interrupted, directory);
    await writeFile(join(directory, 'kek'), 'test data');
    const logged: unknown[] = [];
    const logger = { ...silentLogger, warn: (...args: unknown[]) => void logged.push(args) };
    const engine = new LevelEngine({ directory, copiedBeforeMigration: ['kek', 'absent'] });
    const store = await openStore({ engine, logger });
    const copy = join(directory, 'schema-2-copy');
    expect(store.migration).to.deep.include({ from: 2, to: 3, copy });
    expect(store.migration?.rollback).to.contain(copy).and.contain('db, high-water, kek');
    expect(JSON.stringify(logged)).to.contain(copy);
    await store.close();
    expect(await readFile(join(copy, 'kek'), 'utf8')).to.equal('test data');
    const again = await open(directory);
    expect(again.migration).to.equal(undefined);
    await again.close();
  });

  it('is restored by the rollback steps: the copy is a directory of version 2', async () => {
    await unpackFixture(interrupted, directory);
    const manifest = await fixtureManifest<LibraryManifest>(interrupted);
    const store = await open(directory);
    await store.create(widgets, { namespace: 'default', name: 'written-since' });
    await store.close();
    for (const name of ['db', 'high-water']) {
      await rm(join(directory, name), { recursive: true });
      await cp(join(directory, 'schema-2-copy', name), join(directory, name), { recursive: true });
    }
    const back = await open(directory);
    expect(back.migration?.from).to.equal(2);
    expect(await widgetsOf(back)).to.deep.equal(manifest.objects['Widget']);
    await back.close();
  });

  it('has no superseded records below the mark', async () => {
    await unpackFixture(interrupted, directory);
    const { checkpoint } = await fixtureManifest<LibraryManifest>(interrupted);
    await (await open(directory)).close();
    const engine = new LevelEngine({ directory });
    await engine.open(() => '');
    let below = 0;
    for await (const chunk of engine.scan(0))
      for (const { revision } of chunk) if (revision <= checkpoint.revision) below += 1;
    await engine.close();
    expect(below).to.equal(checkpoint.objects);
  });

  it('is refused unchanged without space for the copy: needed and free bytes are named', async () => {
    await unpackFixture(interrupted, directory);
    const fileSystem = { ...nodeFileSystem, freeBytes: async () => 1_000_000 };
    const refused: unknown = await open(directory, { fileSystem }).catch((error: unknown) => error);
    expect(hasCode(refused, 'ResourceExhausted')).to.equal(true);
    expect(String(refused)).to.match(/needs \d{7} bytes, and 1000000 are free/);
    expect(await readdir(directory)).to.not.include('schema-2-copy');
    const store = await open(directory);
    expect(store.migration?.from).to.equal(2);
    await store.close();
  });

  it('is refused unchanged if the copy fails, and a partial copy is replaced', async () => {
    await unpackFixture(interrupted, directory);
    let copies = 0;
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      copyFile: async (from, to) => {
        if ((copies += 1) > 2) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
        return nodeFileSystem.copyFile(from, to);
      },
      // The process dies without a cleanup.
      remove: async (path) => {
        if (copies <= 2) await nodeFileSystem.remove(path);
      },
    };
    const refused: unknown = await open(directory, { fileSystem }).catch((error: unknown) => error);
    expect(String(refused)).to.contain('nothing was changed');
    expect(await readdir(directory)).to.include('schema-2-copy.partial');
    const store = await open(directory);
    expect(store.migration?.from).to.equal(2);
    await store.verify();
    await store.close();
    expect(await readdir(directory)).to.not.include('schema-2-copy.partial');
  });

  it('is refused if it is damaged, before its earlier copy is replaced', async () => {
    await unpackFixture('schema-2/library', directory);
    await (await open(directory)).close();
    const copy = join(directory, 'schema-2-copy');
    const whole = await contents(copy);
    // Restored by the rollback steps, but a block of the database is damaged.
    for (const name of ['db', 'high-water']) {
      await rm(join(directory, name), { recursive: true });
      await cp(join(copy, name), join(directory, name), { recursive: true });
    }
    const tables = (await readdir(join(directory, 'db'))).filter((name) => name.endsWith('.ldb'));
    const table = join(directory, 'db', tables.sort()[0] ?? '');
    const bytes = await readFile(table);
    bytes.fill(0, 9_000, 9_500);
    await writeFile(table, bytes);
    const refused: unknown = await open(directory).catch((error: unknown) => error);
    expect(hasCode(refused, 'DataLoss'), String(refused)).to.equal(true);
    expect(await contents(copy)).to.deep.equal(whole);
  });

  it('is refused with both versions when a later release wrote it', async () => {
    await (await open(directory)).close();
    const db = new Level<string, Buffer>(join(directory, 'db'), { valueEncoding: 'buffer' });
    await db.open();
    const meta = Buffer.from((await db.get('m/state')) ?? []);
    const text = Buffer.from(
      meta.subarray(4).toString().replace('"schemaVersion":3', '"schemaVersion":4'),
    );
    const head = Buffer.alloc(4);
    head.writeUInt32BE(crc32(text));
    await db.put('m/state', Buffer.concat([head, text]));
    await db.close();
    const refused: unknown = await open(directory).catch((error: unknown) => error);
    expect(hasCode(refused, 'FailedPrecondition')).to.equal(true);
    expect(String(refused)).to.match(/schema version 4, and this release reads versions 2 to 3/);
  });

  const every = Number(process.env['KEDGE_MIGRATION_KILL_EVERY'] ?? 9);
  it(`opens after a kill at any call of its migration, with all data and a complete copy (at every ${every}th call)`, async function () {
    this.timeout(180_000);
    const child = fileURLToPath(new URL('migration-child.js', import.meta.url));
    const manifest = await fixtureManifest<LibraryManifest>(interrupted);
    const run = (at: string, killAt: number) =>
      spawnSync(process.execPath, [child, at, String(killAt)], { encoding: 'utf8' });
    const whole = join(directory, 'whole');
    await unpackFixture(interrupted, whole);
    await writeFile(join(whole, 'kek'), 'test data');
    const calls = Number(run(whole, 0).stdout);
    expect(calls).to.be.greaterThan(15);
    for (let killAt = 1; killAt <= calls; killAt += every) {
      const at = join(directory, String(killAt));
      await unpackFixture(interrupted, at);
      await writeFile(join(at, 'kek'), 'test data');
      expect(run(at, killAt).signal, `call ${killAt}`).to.equal('SIGKILL');
      const store = await open(at, { copiedBeforeMigration: ['kek'] });
      expect(await widgetsOf(store), `call ${killAt}`).to.deep.equal(manifest.objects['Widget']);
      expect(store.revision).to.equal(manifest.revision);
      await store.verify();
      await store.close();
      const copy = join(at, 'schema-2-copy');
      expect(Object.keys(await contents(copy))).to.include.members([
        'kek',
        'high-water',
        'db/CURRENT',
      ]);
      const fromCopy = await open(copy);
      expect(fromCopy.migration?.from).to.equal(2);
      expect(await widgetsOf(fromCopy), `copy, call ${killAt}`).to.deep.equal(
        manifest.objects['Widget'],
      );
      await fromCopy.close();
      await rm(at, { recursive: true });
    }
  });
});
