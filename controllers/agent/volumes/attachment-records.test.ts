import { expect } from 'chai';
import { findCondition, MemoryEngine, type ObjectStore, openStore, setCondition } from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import { FakeClock, reachState } from 'kedge/testing';
import { type Attachment, type Volume, volumes } from '../../volume/kind.js';
import { overtakenStore, type OvertakenStore } from '../../testing/overtaken-store.js';
import { AttachmentRecords } from './attachment-records.js';
import { attachmentsMax, obstacleOf } from './mount-obstacle.js';

const key = { namespace: 'default', name: 'v' };
const twinKey = { namespace: 'default', name: 'twin' };
const prepared = { source: '/m', devicePath: '/d', formatted: true, fileSystemPending: false };
const claim = 'default/i';

describe('records of attachments', () => {
  let store: ObjectStore;
  let raced: OvertakenStore;
  let records: AttachmentRecords;

  beforeEach(async () => {
    const clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    raced = overtakenStore(store);
    records = new AttachmentRecords({ store: raced.store, node: 'n', clock });
    for (const at of [key, twinKey]) {
      const volume = { ...at, storageClassName: 'c', size: '1Gi' };
      await store.create(volumes, { ...volume, accessMode: 'ReadWriteOnce' });
      await reachState(store, volumes, at, 'Available', { handle: 'h', sizeBytes: '1' });
    }
  });
  afterEach(() => store.close());

  const volume = async (at = key) => (await store.get(volumes, at))!;
  const attachments = async () => (await volume()).attachments ?? [];
  const give = (at: typeof key, ...all: readonly Attachment[]) =>
    store.updateStatus(volumes, at, { attachments: all });
  const of = (node: string, whose = claim): Attachment => ({
    claim: whose,
    node,
    state: 'Attached',
  });
  /** Runs `other` immediately before the next commit of the records. */
  const before = (other: () => Promise<unknown>) => raced.overtake(() => true, other);

  it('a volume is reserved for one of two claims that read it as free at the same moment', async () => {
    before(() => give(key, of('m', 'default/other')));
    expect(await records.reserve(await volume(), claim, [])).to.deep.equal({
      reason: 'VolumeInUse',
      message: 'volume default/v is ReadWriteOnce and in use by instance default/other',
    });
    expect(await attachments()).to.deep.equal([of('m', 'default/other')]);
    expect(records.own.claimsOf(await volume())).to.deep.equal([]);
  });

  it('a volume is not reserved if another one on its storage is reserved at the same moment', async () => {
    const [mine, twin] = [await volume(), await volume(twinKey)];
    before(() => give(twinKey, of('m', 'default/other')));
    const obstacle = await records.reserve(mine, claim, [twin]);
    expect(obstacle).to.include({ reason: 'VolumeInUse' });
    expect(obstacle?.message).to.contain('volume default/twin').and.to.contain('default/other');
    expect(await attachments()).to.deep.equal([]);
  });

  it('a volume that its claim still has on another node is not reserved on this one', async () => {
    await give(key, of('m'));
    expect(await records.reserve(await volume(), claim, [])).to.deep.equal({
      reason: 'VolumeInUse',
      message: 'volume default/v is still attached for default/i on node m',
    });
  });

  it('a volume has a bounded number of attachments; the next claim waits until one is removed, with the remedy in its message', async () => {
    const full = Array.from({ length: attachmentsMax }, (_, n) => of('m', `default/web-${n}`));
    const shared = { ...(await volume()), accessMode: 'ReadOnlyMany' as const };
    const asked = (attachments: readonly Attachment[], whose = claim) =>
      obstacleOf({ ...shared, attachments }, { claim: whose, node: 'n' }, []);
    expect(asked(full.slice(1))).to.equal(undefined);
    expect(asked(full)).to.deep.equal({
      reason: 'VolumeInUse',
      message:
        'volume default/v has 128 attachments, and one volume has at most 128; run fewer instances that mount it, or use another volume with the same data for some of them',
    });
    expect(asked([...full, of('n')]), 'it has one already').to.equal(undefined);
  });

  it('a volume that is being detached from its claim is not reserved again before the attachment is removed', async () => {
    await give(key, of('n'));
    const seen = await volume();
    await give(key, { ...of('n'), state: 'Detaching' });
    expect(await records.reserve(seen, claim, [])).to.deep.equal({
      reason: 'VolumeInUse',
      message: 'volume default/v is being detached from default/i on node n',
    });
    expect(await attachments()).to.deep.equal([{ ...of('n'), state: 'Detaching' }]);
    expect(records.own.claimsOf(await volume())).to.deep.equal([]);
    await give(key);
    expect(await records.reserve(await volume(), claim, [])).to.equal(undefined);
  });

  it('a volume that was force-detached during its mount is not bound, regardless of its present holder', async () => {
    for (const now of [
      [],
      [of('m', 'default/other')],
      [of('m')],
      [{ ...of('n'), state: 'Detaching' as const }],
    ]) {
      await give(key);
      const begun = await volume();
      await records.reserve(begun, claim, []);
      before(() => give(key, ...now));
      const error: unknown = await records.bound(begun, claim, prepared).catch((e: unknown) => e);
      expect(error).to.include({ kind: 'Unavailable' });
      expect(await attachments()).to.deep.equal(now);
      expect((await volume()).status).to.equal('Available');
    }
  });

  it('a release removes only the attachment of this node', async () => {
    await give(key, of('n'));
    const held = await volume();
    before(() => give(key, of('m')));
    await records.released(held, claim);
    expect(await attachments()).to.deep.equal([of('m')]);
  });

  it('no status is written to a recreated volume of the same name', async () => {
    const begun = await volume();
    await records.reserve(begun, claim, []);
    const remake = async (): Promise<Volume> => {
      await store.deleteByName(volumes, key);
      const next = { ...key, storageClassName: 'c', size: '1Gi' };
      return store.create(volumes, { ...next, accessMode: 'ReadWriteOnce' });
    };
    for (const write of [
      () => records.reserve(begun, claim, []),
      () => records.bound(begun, claim, prepared),
      () => records.failed(begun, 'attach', new DriverError('Internal', 'no')),
      () => records.released(begun, claim),
      () => records.grown(begun),
    ]) {
      before(remake);
      await write().catch(() => undefined);
      const next = await remake();
      await write().catch(() => undefined);
      expect(await volume()).to.deep.equal(next);
    }
  });

  it('a volume that was recreated and provisioned under the name is not reserved', async () => {
    const begun = await volume();
    const next = { ...key, storageClassName: 'c', size: '1Gi' };
    const remake = async (): Promise<void> => {
      await store.deleteByName(volumes, key);
      await store.create(volumes, { ...next, accessMode: 'ReadWriteOnce' });
      await reachState(store, volumes, key, 'Available', { handle: 'other', sizeBytes: '1' });
    };
    await remake();
    const refused = await records.reserve(begun, claim, []).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(DriverError);
    expect(await attachments()).to.deep.equal([]);
  });

  it('a formatted volume stays formatted, regardless of later mounts', async () => {
    await records.reserve(await volume(), claim, []);
    await records.bound(await volume(), claim, prepared);
    await records.bound(await volume(), claim, { ...prepared, devicePath: '/e', formatted: false });
    expect(await volume()).to.include({ formatted: true });
    expect(await attachments()).to.have.nested.property('[0].devicePath', '/e');
  });

  it('a volume that grew while it was being mounted still waits for its file system', async () => {
    const begun = await volume();
    await records.reserve(begun, claim, []);
    const pending = { type: 'FileSystemResizePending', status: 'True' as const };
    const grows = { ...pending, reason: 'WaitsForMount', message: '' };
    const conditions = setCondition([], grows, '2026-01-01T00:00:00.000Z');
    await store.updateStatus(volumes, key, { sizeBytes: '2', conditions });
    const waits = async () => findCondition((await volume()).conditions, pending.type)?.status;
    await records.bound(begun, claim, prepared);
    expect(await waits()).to.equal('True');
    await records.grown(begun);
    expect(await waits()).to.equal('True');
    await records.grown(await volume());
    expect(await waits()).to.equal('False');
  });
});
