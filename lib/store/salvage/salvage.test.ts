import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { type ApiObject, defineKind } from '../../object/index.js';
import { nodeFileSystem } from '../directory/file-system.js';
import {
  backupToFile,
  type FileSystem,
  LevelEngine,
  MemoryEngine,
  openStore,
  restoreBackup,
  type RevisionRange,
  type Salvaged,
  salvageStore,
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
const made = 600;

describe('salvage of a store', function () {
  this.timeout(180_000);
  let folder: string;
  let directory: string;
  let scratch: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-salvage-'));
    directory = join(folder, 'data');
    scratch = join(folder, 'scratch');
    await mkdir(directory);
    await mkdir(scratch);
  });
  afterEach(() => rm(folder, { recursive: true }));

  const engine = () => new LevelEngine({ directory, writeBufferBytes: 64 * 1024 });

  /** Object n is written at revision n + 1; the last revision deletes t3. */
  async function filled() {
    const store = await openStore({ engine: engine() });
    // Random enough that LevelDB's compression leaves several tables.
    const pad = (n: number) =>
      Array.from({ length: 200 }, (_, i) => (n * 7919 + i * i) % 9973).join('');
    for (let n = 0; n < made; n += 1) await store.create(things, { name: `t${n}`, pad: pad(n) });
    await store.deleteByName(things, { name: 't3' });
    const { clusterId } = store;
    await store.close();
    return clusterId;
  }

  /** All files except those of the lock, with a hash of their content. */
  async function content(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || entry.parentPath.endsWith('/lock')) continue;
      found.set(
        path,
        createHash('sha256')
          .update(await readFile(path))
          .digest('hex'),
      );
    }
    return found;
  }

  /** Salvages, and checks that no file is left behind. */
  async function salvage(fileSystem?: FileSystem): Promise<Salvaged> {
    const before = await content();
    const found = await salvageStore(directory, { scratch, ...(fileSystem ? { fileSystem } : {}) });
    expect(await content()).to.deep.equal(before);
    expect(await readdir(scratch)).to.deep.equal([]);
    return found;
  }

  const tables = async (): Promise<string[]> =>
    (await readdir(join(directory, 'db'))).filter((name) => name.endsWith('.ldb')).sort();

  async function spoil(name: string, change: (bytes: Buffer) => Buffer): Promise<void> {
    const path = join(directory, 'db', name);
    await writeFile(path, change(await readFile(path)));
  }
  const flipped = (bytes: Buffer, at: number, bit = 0): Buffer => {
    bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
    return bytes;
  };

  const each = (ranges: readonly RevisionRange[]): number[] =>
    ranges.flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, n) => first + n),
    );

  /** Checks that the reported revisions are exactly the lost ones. */
  function requireExactLoss(found: Salvaged): void {
    const lost = new Set(each(found.losses.revisions));
    const names = new Set(found.objects.map(({ name }) => name));
    for (let n = 0; n < made; n += 1)
      if (n !== 3) expect(names.has(`t${n}`), `t${n}`).to.equal(!lost.has(n + 1));
    const three = !lost.has(4) && lost.has(made + 1);
    expect(names.has('t3')).to.equal(three);
    expect(found.records + lost.size).to.equal(made + 1);
  }

  it('of an intact one returns every object in its last version, reports no loss, and changes nothing', async () => {
    const clusterId = await filled();
    const found = await salvage();
    expect(found).to.include({ clusterId, records: made + 1, damagedRecords: 0 });
    expect(found.damagedFiles).to.deep.equal([]);
    expect(found.losses).to.deep.equal({
      revisions: [],
      atMark: { revision: 0, expected: 0, found: 0, same: true },
      endKnown: true,
    });
    expect(found.objects).to.have.length(made - 1);
    expect(found.objects).to.deep.include({ kind: 'Thing', namespace: undefined, name: 't4' });
    await using again = await openStore({ engine: engine() });
    expect((await again.list(things, { limit: 1_000 })).items).to.have.length(made - 1);
  });

  it('with a damaged block and without its manifest returns the rest, as a backup that can be restored', async () => {
    await filled();
    const [table = ''] = await tables();
    await spoil(table, (bytes) => flipped(bytes, 100));
    await rm(join(directory, 'db', 'CURRENT'));
    const found = await salvage();
    expect(found.damagedFiles).to.have.length(1);
    expect(found.damagedFiles[0]?.name).to.equal(table);
    expect(found.damagedFiles[0]?.detail).to.match(/^1 of \d+ blocks are lost$/);
    expect(found.objects.length).to.be.within(made - 20, made - 2);
    requireExactLoss(found);
    const path = join(folder, 'salvaged.backup');
    const report = await backupToFile(found, path);
    expect(report.objects).to.equal(found.objects.length);
    const memory = new MemoryEngine();
    await restoreBackup(path, memory);
    await using restored = await openStore({ engine: memory });
    await restored.verify();
    const { items } = await restored.list(things, { limit: 1_000 });
    expect(items.map(({ name }) => name).sort()).to.deep.equal(
      found.objects.map(({ name }) => name).sort(),
    );
  });

  it('with any changed or truncated byte reports exactly the lost revisions', async () => {
    await filled();
    const whole = new Map<string, Buffer>();
    for (const name of await readdir(join(directory, 'db')))
      if (/\.(ldb|log)$/.test(name)) whole.set(name, await readFile(join(directory, 'db', name)));
    const damage = fc.record({
      name: fc.constantFrom(...whole.keys()),
      share: fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      bit: fc.nat(7),
      cut: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(damage, async ({ name, share, bit, cut }) => {
        const bytes = Buffer.from(whole.get(name) ?? '');
        if (bytes.length === 0) return;
        const at = Math.floor(share * bytes.length);
        await spoil(name, () => (cut ? bytes.subarray(0, at) : flipped(bytes, at, bit)));
        const found = await salvage();
        requireExactLoss(found);
        expect(found.losses.atMark === undefined).to.equal(found.clusterId === undefined);
        for (const [file, content] of whole) await writeFile(join(directory, 'db', file), content);
      }),
      { numRuns: 60 },
    );
  });

  it('on a disk with an unreadable sector loses only its content', async () => {
    await filled();
    const [table = ''] = await tables();
    const bad = join(directory, 'db', table);
    const refusal = (): Error => Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      readFile: (path) =>
        path === bad ? Promise.reject(refusal()) : nodeFileSystem.readFile(path),
      async open(path, mode) {
        const file = await nodeFileSystem.open(path, mode);
        if (path !== bad) return file;
        const read = async (position: number, length: number): Promise<Buffer> => {
          if (position <= 8_192 && position + length > 8_192) throw refusal();
          return file.read(position, length);
        };
        return { ...file, read };
      },
    };
    const found = await salvage(fileSystem);
    expect(found.damagedFiles.map(({ name }) => name)).to.deep.equal([table]);
    expect(found.objects.length).to.be.within(made - 30, made - 2);
    requireExactLoss(found);
  });

  it('to a full disk reports where space is needed, and leaves nothing there', async () => {
    await filled();
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      async open(path, mode) {
        const file = await nodeFileSystem.open(path, mode);
        return mode === 'wx' ? { ...file, write: () => Promise.reject(full) } : file;
      },
    };
    const error = await salvage(fileSystem).catch((e: unknown) => e);
    expect(error).to.include({ reason: 'ScratchUnwritable' });
    expect(String(error)).to.include(scratch).and.include('TMPDIR');
    expect(await readdir(scratch)).to.deep.equal([]);
    expect((await salvage()).records).to.equal(made + 1);
  });

  it('does not restore records that a compaction dropped, and counts the objects at its mark', async () => {
    const store = await openStore({ engine: engine(), historyEvents: 5, historyAgeMs: -1 });
    const pad = 'x'.repeat(100);
    for (let n = 0; n < 300; n += 1)
      await store.create(things, { name: `t${n}`, pad: `${n}${pad}` });
    for (let n = 0; n < 300; n += 3) await store.deleteByName(things, { name: `t${n}` });
    for (let n = 0; n < 5; n += 1) await store.create(things, { name: `v${n}` });
    await store.compact();
    for (let n = 0; n < 300; n += 1)
      await store.create(things, { name: `u${n}`, pad: `${n}${pad}` });
    await store.close();
    const undamaged = await salvage();
    expect(undamaged.losses.atMark).to.include({ expected: 200, found: 200, same: true });
    expect(undamaged.objects).to.have.length(505);
    let counted = 0;
    for (const table of await tables()) {
      const path = join(directory, 'db', table);
      const whole = await readFile(path);
      await spoil(table, (bytes) => flipped(bytes, 20));
      const found = await salvage();
      await writeFile(path, whole);
      const names = new Set(found.objects.map(({ name }) => name));
      const { atMark } = found.losses;
      // The identity record is lost or an earlier one: its mark is from before the compaction.
      if (!atMark || atMark.revision === 0) continue;
      counted += 1;
      const back = Array.from({ length: 100 }, (_, n) => `t${n * 3}`).filter((n) => names.has(n));
      const there = [...names].filter((name) => name.startsWith('t')).length;
      expect(atMark.found).to.equal(there);
      expect(atMark.same).to.equal(there === 200 && back.length === 0);
    }
    expect(counted).to.be.greaterThan(0);
  });

  it('reports that the log is truncated, and if that is unknown', async () => {
    await filled();
    const log = (await readdir(join(directory, 'db'))).filter((name) => name.endsWith('.log'));
    for (const name of log) await spoil(name, (bytes) => bytes.subarray(0, bytes.length >> 1));
    const cut = await salvage();
    requireExactLoss(cut);
    expect(cut.losses.revisions.at(-1)?.last).to.equal(made + 1);
    await rm(join(directory, 'high-water'));
    expect((await salvage()).losses.endKnown).to.equal(false);
  });

  it('of an interrupted restore reads the restored store', async () => {
    await filled();
    await mkdir(join(directory, 'restored'));
    for (const name of ['db', 'high-water'])
      await rename(join(directory, name), join(directory, 'restored', name));
    expect((await salvage()).objects).to.have.length(made - 1);
  });

  it('is refused while the store is open', async () => {
    await using _store = await openStore({ engine: engine() });
    const error = await salvageStore(directory, { scratch }).catch((e: unknown) => e);
    expect(error).to.include({ reason: 'DirectoryLocked' });
  });
});
