import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { Level } from 'level';
import { hasCode } from '../base/index.js';
import { crc32c } from './crc32c.js';
import { LevelEngine, openStore } from './index.js';
import { snappyDecompress } from './snappy.js';
import { checkTable, checkTables } from './table-check.js';

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
    // What was in memory goes to a table at the next open.
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

  it('sees every flipped bit of every block, and every cut', () => {
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

  it('never reads beyond what it is given, whatever that is', () => {
    const lies = fc.uint8Array({ maxLength: 200 });
    fc.assert(
      fc.property(lies, (bytes) => {
        try {
          snappyDecompress(bytes);
        } catch (error) {
          expect(String(error)).to.match(/^Error: a compressed block is damaged/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is made by whoever opens after a process that died opening: the damaged file is named', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-opening-'));
    await using cleanup = { [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
    const store = await openStore({ engine: new LevelEngine({ directory }) });
    await store.close();
    const marks = async () => (await readdir(directory)).filter((file) => file === 'opening');
    expect(await marks(), 'after a clean end').to.deep.equal([]);
    const damaged = Buffer.from(table);
    damaged[10] = (damaged[10] ?? 0) ^ 1;
    await writeFile(join(directory, 'db', '000900.ldb'), damaged);
    await writeFile(join(directory, 'opening'), '');
    for (const attempt of [1, 2]) {
      const refused: unknown = await openStore({ engine: new LevelEngine({ directory }) }).catch(
        (error: unknown) => error,
      );
      expect(hasCode(refused, 'DataLoss'), `attempt ${attempt}`).to.equal(true);
      expect(String(refused)).to.contain('000900.ldb: the block at byte 0 has a wrong checksum');
    }
    await rm(join(directory, 'db', '000900.ldb'));
    const mended = await openStore({ engine: new LevelEngine({ directory }) });
    expect(await marks(), 'once everything was read').to.deep.equal([]);
    await mended.close();
    void cleanup;
  });
});
