import { expect } from 'chai';
import { findCondition, MemoryEngine, openStore, setCondition } from 'kedge';
import { FakeClock, reachState } from 'kedge/testing';
import { volumes } from '../kinds/index.js';
import { AttachmentRecords } from './attachment-records.js';

describe('records of attachments', () => {
  it('a volume that grew while it was being mounted still waits for its file system', async () => {
    const clock = new FakeClock();
    await using store = await openStore({ engine: new MemoryEngine(), clock });
    const records = new AttachmentRecords({ store, node: 'n', clock });
    const key = { namespace: 'default', name: 'v' };
    await store.create(volumes, {
      ...key,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
    await reachState(store, volumes, key, 'Available', { handle: 'h', sizeBytes: '1' });
    const begun = (await store.get(volumes, key))!;
    const pending = { type: 'FileSystemResizePending', status: 'True' as const };
    const grows = { ...pending, reason: 'WaitsForMount', message: '' };
    const conditions = setCondition([], grows, '2026-01-01T00:00:00.000Z');
    await store.updateStatus(volumes, key, { sizeBytes: '2', conditions });
    const mounted = { source: '/m', devicePath: '/d', formatted: true, fileSystemPending: false };
    const waits = async () =>
      findCondition((await store.get(volumes, key))?.conditions, pending.type)?.status;
    await records.bound(begun, 'default/i', mounted);
    expect(await waits()).to.equal('True');
    await records.grown(begun);
    expect(await waits()).to.equal('True');
    await records.grown((await store.get(volumes, key))!);
    expect(await waits()).to.equal('False');
  });
});
