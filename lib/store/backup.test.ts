import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hasCode } from '../base/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { backupToFile, LevelEngine, MemoryEngine, openStore, restoreBackup } from './index.js';

interface Thing extends ApiObject {
  readonly value?: number;
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

  it('of a running store holds one revision, and restores under a new store id with revisions going on', async () => {
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
      expect(restored).to.include({ revision: at, objects });
      await using again = await openStore({ engine: open() });
      expect(again.storeId).to.equal(restored.storeId);
      expect(again.storeId).to.not.equal(store.storeId);
      expect(again.revision).to.equal(at);
      expect((await again.list(things)).items).to.have.length(objects);
      expect(await again.get(things, { name: 't8' })).to.deep.equal(
        await store.get(things, { name: 't8' }),
      );
      await again.verify();
      const made = await again.create(things, { name: 'new' });
      expect(Number(made.metadata.resourceVersion)).to.equal(at + 1);
      const { signal } = new AbortController();
      const old = again.watch(things, { fromRevision: at - 5, signal });
      const error = await Promise.resolve(old[Symbol.asyncIterator]().next()).catch(
        (e: unknown) => e,
      );
      expect(hasCode(error, 'OutOfRange')).to.equal(true);
    }
  });

  it('refuses a directory that holds something', async () => {
    await using store = await filled(1);
    await backupToFile(store, path);
    const engine = new MemoryEngine();
    await using other = await openStore({ engine });
    await other.create(things, { name: 'a' });
    const error = await restoreBackup(path, engine).catch((e: unknown) => e);
    expect(hasCode(error, 'FailedPrecondition')).to.equal(true);
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

  it('that can not be written leaves no file', async () => {
    await using store = await filled(3);
    const missing = join(folder, 'nowhere', 'x');
    const error = await backupToFile(store, missing).catch((e: unknown) => e);
    expect(String(error)).to.contain('ENOENT');
  });
});
