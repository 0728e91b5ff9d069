import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { Level } from 'level';
import { hasCode } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { crc32c } from './crc32c.js';
import { LevelEngine, openStore } from '../index.js';
import { liveTables } from './manifest.js';
import { snappyDecompress } from './snappy.js';
import { checkTable, checkTables } from './table-check.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

describe('check of LevelDB tables', () => {
  let folder: string;
  let table: Buffer;
  let name: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-tables-'));
    const db = new Level(join(folder, 'db'), { writeBufferSize: 64 * 1024 });
    for (let n = 0; n < 300; n += 1)
      await db.put(`key${n}`, `${'compressible '.repeat(40)}${Math.sin(n)}`);
    await db.close();
    // The next open writes the content of memory to a table.
    const again = new Level(join(folder, 'db'));
    await again.open();
    await again.close();
    name = (await readdir(join(folder, 'db'))).find((file) => file.endsWith('.ldb')) ?? '';
    table = await readFile(join(folder, 'db', name));
  });
  after(() => rm(folder, { recursive: true }));

  it('knows the checksum of RFC 3720', () => {
    expect(crc32c(Buffer.from('123456789'))).to.equal(0xe3069283);
    expect(crc32c(Buffer.alloc(32))).to.equal(0x8a9136aa);
    expect(crc32c(Buffer.alloc(0))).to.equal(0);
  });

  it('passes tables that LevelDB wrote', () => checkTables(join(folder, 'db')));

  it('detects every flipped bit of every block, and every truncation', () => {
    const parsed = table.length - 48;
    fc.assert(
      fc.property(fc.nat(parsed - 1), fc.nat(7), (at, bit) => {
        const damaged = Buffer.from(table);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        expect(() => checkTable(damaged)).to.throw(Error);
        expect(() => checkTable(table.subarray(0, at))).to.throw(Error);
      }),
      { numRuns: 500 },
    );
  });

  it('never reads beyond its input, for any input', () => {
    const inputs = fc.uint8Array({ maxLength: 200 });
    fc.assert(
      fc.property(inputs, (bytes) => {
        try {
          snappyDecompress(bytes);
        } catch (error) {
          expect(String(error)).to.match(/^Error: a compressed block is damaged/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('runs in an opening after a process that died while opening, and names the damaged file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-opening-'));
    const database = join(directory, 'db');
    const open = () => openStore({ engine: new LevelEngine({ directory }) });
    const tables = async () => (await readdir(database)).filter((file) => file.endsWith('.ldb'));
    const marks = async () => (await readdir(directory)).filter((file) => file === 'opening');
    // The second open writes the log of the first one to a table.
    for (const name of ['one', 'two']) {
      const store = await open();
      await store.create(lamps, { name });
      await store.close();
    }
    expect(await marks(), 'after a graceful close').to.deep.equal([]);
    const [used = ''] = await tables();
    const sound = await readFile(join(database, used));
    const damaged = Buffer.from(sound);
    damaged[10] = (damaged[10] ?? 0) ^ 1;
    await writeFile(join(database, used), damaged);
    await writeFile(join(directory, 'opening'), '');
    for (const attempt of [1, 2]) {
      const refused: unknown = await open().catch((error: unknown) => error);
      expect(hasCode(refused, 'DataLoss'), `attempt ${attempt}`).to.equal(true);
      expect(String(refused)).to.contain(`${used}: the block at byte 0 has a wrong checksum`);
    }
    await writeFile(join(database, used), sound);
    const mended = await open();
    expect(await marks(), 'once all records were read').to.deep.equal([]);
    await mended.close();
    await rm(directory, { recursive: true });
  });

  it('skips an unused table that a killed process left half-written', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-opening-'));
    const open = () => openStore({ engine: new LevelEngine({ directory }) });
    const store = await open();
    await store.create(lamps, { name: 'one' });
    await store.close();
    await writeFile(join(directory, 'db', '000900.ldb'), table.subarray(0, 1_000));
    await writeFile(join(directory, 'opening'), '');
    const next = await open();
    expect(await next.get(lamps, { name: 'one' })).to.include({ name: 'one' });
    await next.close();
    await rm(directory, { recursive: true });
  });

  it('reads the tables in use from the manifest', async () => {
    const database = join(folder, 'db');
    const there = (await readdir(database)).filter((file) => file.endsWith('.ldb'));
    const live = [...(await liveTables(database))].sort((a, b) => a - b);
    expect(live).to.deep.equal(
      there.map((file) => Number.parseInt(file, 10)).sort((a, b) => a - b),
    );
    expect((await liveTables(join(folder, 'nowhere'))).size).to.equal(0);
  });
});
