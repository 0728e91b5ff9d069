import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hasCode } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { backupToFile, MemoryEngine, openStore, verifyBackup } from '../index.js';

const things = defineKind<ApiObject>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});

describe('verification of a backup', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-verify-'));
    path = join(folder, 'store.backup');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('refuses a small one that is truncated at any byte, or has any byte changed', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    for (const name of ['a', 'b']) await store.create(things, { name });
    await backupToFile(store, path);
    const good = await readFile(path);
    await verifyBackup(path);
    const damaged = join(folder, 'damaged');
    const refused = async (bytes: Buffer, what: string): Promise<void> => {
      await writeFile(damaged, bytes);
      const error = await verifyBackup(damaged).catch((e: unknown) => e);
      const isExpected = hasCode(error, 'DataLoss') || hasCode(error, 'FailedPrecondition');
      expect(isExpected, `${what}: ${String(error)}`).to.equal(true);
    };
    for (let at = 0; at < good.length; at += 1) {
      await refused(good.subarray(0, at), `cut at ${at}`);
      const bytes = Buffer.from(good);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      await refused(bytes, `byte ${at}`);
    }
    await refused(Buffer.concat([good, Buffer.alloc(1)]), 'one byte more');
    await refused(Buffer.concat([good, good]), 'twice');
  });

  it('refuses an invalid header as damage', async () => {
    const rest = { storeId: 's', revision: 1, createdAt: '2026-01-01T00:00:00.000Z' };
    const headers = ['null', '7', '"text"', '[]', '{}', '{"format":7}', '{'];
    for (const missing of Object.keys(rest))
      headers.push(JSON.stringify({ format: 'kedge-backup-1', ...rest, [missing]: null }));
    for (const header of headers) {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(1 + header.length);
      head[4] = 'H'.charCodeAt(0);
      await writeFile(path, Buffer.concat([head, Buffer.from(header)]));
      const error = await verifyBackup(path).catch((e: unknown) => e);
      expect(error, header).to.include({ reason: 'BackupDamaged' });
      expect(String(error), header).to.not.include('its end is missing');
    }
  });
});
