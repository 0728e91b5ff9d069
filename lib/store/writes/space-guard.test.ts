import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { type ApiObject, defineKind, type ObjectKey } from '../../object/index.js';
import { FakeClock, RecordingLogger } from '../../testing/index.js';
import {
  type EmbeddedStore,
  MemoryEngine,
  type ObjectStore,
  type Operation,
  openStore,
  removeFinalizer,
  type Reserve,
} from '../index.js';

interface Thing extends ApiObject {
  readonly text?: string;
  readonly state?: string;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: ['state'],
});
const journal = defineKind<Thing>({
  kind: 'Journal',
  plural: 'journals',
  scope: 'Cluster',
  statusFields: [],
  takenWhenFull: true,
});

const floor = 64 * 1024 * 1024;
const held = { metadata: { finalizers: ['test/holds'] } };

/** A store on a disk with the given number of free bytes. */
async function nearlyFull(): Promise<{
  readonly store: ObjectStore;
  readonly setFree: (bytes: number) => Promise<void>;
  readonly clock: FakeClock;
}> {
  let free = 10 * floor;
  const engine = Object.assign(new MemoryEngine(), { freeBytes: () => Promise.resolve(free) });
  const append = engine.append.bind(engine);
  engine.append = (records) => {
    for (const { bytes } of records) free -= bytes.length;
    return append(records);
  };
  const clock = new FakeClock();
  const store = await openStore({ engine, clock, freeBytesFloor: floor });
  for (const name of ['a', 'b', 'c']) await store.create(things, { name, ...held });
  await store.create(things, { name: 'plain' });
  await store.create(things, { name: 'other' });
  return {
    store,
    clock,
    async setFree(bytes) {
      free = bytes;
      await clock.advance(2_000);
      // Free space is measured at a write.
      await store.create(things, { name: `probe${bytes}` }).catch(() => undefined);
      await clock.advance(0);
      expect(store.health().state).to.equal(bytes < floor ? 'full' : 'serving');
    },
  };
}

async function refusal(write: Promise<unknown>): Promise<string> {
  const error = await write.catch((e: unknown) => e);
  if (!(error instanceof StatusError)) return 'accepted';
  return error.reason;
}

describe('a store whose disk is nearly full', () => {
  const key = (name: string): ObjectKey => ({ name });

  it('accepts every step of the deletion of an object with finalizers, and nothing else', async () => {
    const { store, setFree } = await nearlyFull();
    await setFree(0.8 * floor);
    expect(await refusal(store.create(things, { name: 'new' }))).to.equal('DiskFull');
    expect(await refusal(store.updateStatus(things, key('a'), { state: 'x' }))).to.equal(
      'DiskFull',
    );
    const marked = await store.deleteByName(things, key('a'));
    expect(marked.metadata.deletionRequestedAt).to.be.a('string');
    await store.updateStatus(things, key('a'), { state: 'Deleting' });
    const finalizing = (await store.get(things, key('a'))) as Thing;
    await removeFinalizer(store, things, finalizing, 'test/holds');
    expect(await store.get(things, key('a'))).to.equal(undefined);
    await store.deleteByName(things, key('plain'));
    // An object that is not deleted, together with one that is, in one transaction.
    const mixed = store.transact([
      { op: 'deleteByName', kind: things, key: key('b') },
      { op: 'updateStatus', kind: things, key: key('other'), status: { state: 'y' } },
    ]);
    expect(await refusal(mixed)).to.equal('DiskFull');
    expect((await store.get(things, key('b')))?.metadata.deletionRequestedAt).to.equal(undefined);
    await store.close();
  });

  it('accepts small records that deletions depend on, and no large ones', async () => {
    const { store, setFree } = await nearlyFull();
    await setFree(0.8 * floor);
    await store.create(journal, { name: 'intent', text: 'delete a' });
    const text = 'x'.repeat(20_000);
    expect(await refusal(store.create(journal, { name: 'large', text }))).to.equal('DiskFull');
    const together = store.transact([
      { op: 'deleteByName', kind: things, key: key('a') },
      { op: 'create', kind: journal, object: { name: 'beside' } },
    ]);
    expect(await refusal(together)).to.equal('accepted');
    await store.close();
  });

  it('does not let objects that are being deleted fill the rest', async () => {
    const { store, setFree } = await nearlyFull();
    await setFree(0.8 * floor);
    await store.deleteByName(things, key('a'));
    const large = { state: 'x'.repeat(1_000_000) };
    expect(await refusal(store.updateStatus(things, key('a'), large))).to.equal('DiskFull');
    // Small steps that make it large: each is written completely, until half of the floor is reached.
    let state = '';
    let taken = 0;
    for (let n = 0; n < 20_000; n += 1) {
      state += 'x'.repeat(4_000);
      if ((await refusal(store.updateStatus(things, key('a'), { state }))) !== 'accepted') break;
      taken += state.length;
    }
    expect(taken).to.be.within(0.2 * floor, 0.31 * floor);
    expect(await refusal(store.deleteByName(things, key('plain')))).to.equal('accepted');
    await store.close();
  });

  it('accepts only final deletions below half of the floor, and all writes again once space is free', async () => {
    const { store, setFree } = await nearlyFull();
    await setFree(0.4 * floor);
    expect(await refusal(store.deleteByName(things, key('a')))).to.equal('DiskFull');
    expect(await refusal(store.deleteByName(things, key('plain')))).to.equal('accepted');
    await setFree(0.9 * floor);
    expect(await refusal(store.deleteByName(things, key('a')))).to.equal('accepted');
    await setFree(2 * floor);
    expect(await refusal(store.create(things, { name: 'new' }))).to.equal('accepted');
    await store.close();
  });
});

/** A store with a reserve, on a disk whose free space the test sets. */
async function reserved(): Promise<{
  readonly store: EmbeddedStore;
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly disk: { free: number; held: number; needed: number };
}> {
  const whole = floor / 2;
  const disk = { free: 10 * floor, held: 0, needed: 1024 };
  const reserve: Reserve = {
    held: () => Promise.resolve(disk.held),
    layPiece: (bytes, keepFree) => {
      const piece = bytes / 4;
      const fits = disk.held < bytes && disk.free - piece >= keepFree;
      if (fits) disk.held += piece;
      if (fits) disk.free -= piece;
      return Promise.resolve(fits);
    },
    release: (bytes) => {
      const before = disk.held;
      while (disk.free < bytes && disk.held > 0) {
        disk.held -= whole / 4;
        disk.free += whole / 4;
      }
      return Promise.resolve(before - disk.held);
    },
  };
  const memory = new MemoryEngine();
  const engine = Object.assign(memory, {
    freeBytes: () => Promise.resolve(disk.free),
    reserve,
    location: '/data',
  });
  const append = memory.append.bind(memory);
  memory.append = (records) =>
    disk.free < disk.needed ? Promise.reject(new Error('ENOSPC')) : append(records);
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const options = { engine, clock, logger, freeBytesFloor: floor, reserveBytes: whole };
  const store = await openStore(options);
  for (const name of ['a', 'b']) await store.create(things, { name, text: 'long text', ...held });
  await clock.advance(10_000);
  return { store, clock, logger, disk };
}

describe('a store with a reserve', () => {
  const key = (name: string): ObjectKey => ({ name });

  it('allocates it at the opening, and counts it as free space', async () => {
    const { store, disk, clock } = await reserved();
    expect(disk.held).to.equal(floor / 2);
    disk.free = floor / 2;
    await clock.advance(10_000);
    expect(store.health().state).to.equal('serving');
    await store.close();
  });

  it('accepts every step of a deletion on a disk without a free byte, and refuses other writes', async () => {
    const { store, disk, clock } = await reserved();
    disk.free = 0;
    await clock.advance(10_000);
    expect(store.health().state).to.equal('full');
    const refused: unknown = await store.create(things, { name: 'new' }).catch((e: unknown) => e);
    expect(String(refused)).to.match(/\(\/data\) has 0 bytes free and 33554432 in its reserve/);
    expect(disk.held, 'refused writes release nothing').to.equal(floor / 2);
    await store.deleteByName(things, key('a'));
    await store.updateStatus(things, key('a'), { state: 'Deleting' });
    await removeFinalizer(
      store,
      things,
      (await store.get(things, key('a'))) as Thing,
      'test/holds',
    );
    expect(await store.get(things, key('a'))).to.equal(undefined);
    expect(disk.held).to.be.within(1, floor / 2 - 1);
    expect(store.health().state).to.equal('full');
    await store.close();
  });

  it('accepts an update that makes an object smaller', async () => {
    const { store, disk, clock } = await reserved();
    disk.free = 0;
    await clock.advance(10_000);
    const { metadata } = (await store.get(things, key('b'))) as Thing;
    const smaller = store.update(things, { name: 'b', text: '', metadata });
    expect(await refusal(smaller)).to.equal('accepted');
    expect(await refusal(store.updateStatus(things, key('b'), { state: 'Idle' }))).to.equal(
      'DiskFull',
    );
    await store.close();
  });

  it('accepts deletions if the disk was filled since the last measurement', async () => {
    const { store, disk, clock } = await reserved();
    await clock.advance(4_000);
    disk.free = 0;
    await store.deleteByName(things, key('a'));
    expect(store.health().state).to.equal('full');
    await store.close();
  });

  it('keeps it from ordinary writes if the disk was filled since the last measurement', async () => {
    const { store, disk, clock } = await reserved();
    await clock.advance(4_000);
    disk.free = 0;
    const inOrder: string[] = [];
    const note = (name: string) => (outcome: string) => inOrder.push(`${name} ${outcome}`);
    await Promise.all([
      refusal(store.create(things, { name: 'new' })).then(note('create')),
      refusal(store.deleteByName(things, key('a'))).then(note('delete')),
      refusal(store.updateStatus(things, key('b'), { state: 'Idle' })).then(note('status')),
    ]);
    expect(inOrder).to.have.members(['create DiskFull', 'delete accepted', 'status DiskFull']);
    expect(disk.held, 'only the deletion released a part').to.equal(floor / 8);
    expect(store.health().state).to.equal('full');
    await store.close();
  });

  it('keeps it from ordinary writes that fit only with it, also after others', async () => {
    const { store, disk, clock } = await reserved();
    // Ordinary writes may take 16 MiB more than at the floor.
    disk.free = floor / 2 + floor / 16;
    await clock.advance(10_000);
    const text = 'x'.repeat(1_000_000);
    const operations = (prefix: string) =>
      Array.from({ length: 15 }, (_, at): Operation => {
        return { op: 'create', kind: things, object: { name: `${prefix}${at}`, text } as Thing };
      });
    const error: unknown = await store
      .transact([...operations('v'), ...operations('w')])
      .catch((e: unknown) => e);
    expect(String(error)).to.match(/this write needs 3\d{7}: free disk space, or write less/);
    const both = [operations('x'), operations('y')].map((set) => refusal(store.transact(set)));
    expect(await Promise.all(both)).to.deep.equal(['accepted', 'DiskFull']);
    expect(await refusal(store.transact(operations('z').slice(0, 3)))).to.equal('accepted');
    expect(disk.held).to.equal(floor / 2);
    await store.close();
  });

  it('allocates it again and accepts all writes once space is free, without a write or restart', async () => {
    const { store, disk, clock, logger } = await reserved();
    disk.free = 0;
    await clock.advance(10_000);
    await store.deleteByName(things, key('a'));
    disk.free = 2 * floor;
    disk.held = 0;
    await clock.advance(10_000);
    expect(disk.held).to.equal(floor / 2);
    expect(store.health().state).to.equal('serving');
    expect(await refusal(store.create(things, { name: 'new' }))).to.equal('accepted');
    expect(logger.lines.map(({ message }) => message)).to.include('the reserve is complete again');
    await store.close();
  });

  it('warns if the disk is too small for all of it', async () => {
    const { store, disk, clock, logger } = await reserved();
    disk.held = 0;
    disk.free = 0.7 * floor;
    await clock.advance(10_000);
    expect(disk.held).to.equal(floor / 8);
    const warning = logger.lines.find(({ message }) =>
      message.includes('the reserve is smaller than configured'),
    );
    expect(warning?.fields).to.include({ directory: '/data', reserveBytes: floor / 2 });
    await store.close();
  });

  it('releases a part of it for what was written since the last measurement', async () => {
    const { store, disk, clock } = await reserved();
    // 16 MiB are needed beside each write.
    const needed = 16 * 1024 * 1024;
    disk.free = needed + 4_000_000;
    await clock.advance(10_000);
    expect(store.health().state).to.equal('full');
    expect(disk.held).to.equal(floor / 2);
    const text = 'x'.repeat(15_000);
    let written = 0;
    while (disk.held === floor / 2 && written < 8_000_000) {
      await store.create(journal, { name: `entry-${written}`, text });
      written += text.length;
      disk.free = Math.max(0, needed + 4_000_000 - written);
    }
    expect(written).to.be.within(3_500_000, 4_100_000);
    await store.close();
  });

  it('requires a number as its floor', async () => {
    const options = { engine: new MemoryEngine(), freeBytesFloor: NaN };
    const error: unknown = await openStore(options).catch((e: unknown) => e);
    expect(String(error)).to.match(/freeBytesFloor is NaN; give a number, or omit it/);
  });

  it('requires a reserve of at most half of the floor', async () => {
    const engine = new MemoryEngine();
    const options = { engine, freeBytesFloor: 100, reserveBytes: 51 };
    const error: unknown = await openStore(options).catch((e: unknown) => e);
    expect(String(error)).to.match(/reserveBytes is 51; give a whole number from 0 to 50/);
  });
});
