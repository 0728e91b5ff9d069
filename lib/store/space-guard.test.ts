import { expect } from 'chai';
import { StatusError } from '../base/index.js';
import { type ApiObject, defineKind, type ObjectKey } from '../object/index.js';
import { FakeClock } from '../testing/index.js';
import { MemoryEngine, type ObjectStore, openStore, removeFinalizer } from './index.js';

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

/** A store whose disk has as many free bytes as the test says. */
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
      // Asked when somebody writes.
      await store.create(things, { name: `probe${bytes}` }).catch(() => undefined);
      await clock.advance(0);
      expect(store.health().state).to.equal(bytes < floor ? 'full' : 'serving');
    },
  };
}

async function refusal(write: Promise<unknown>): Promise<string> {
  const error = await write.catch((e: unknown) => e);
  if (!(error instanceof StatusError)) return 'taken';
  return error.reason;
}

describe('a store whose disk is nearly full', () => {
  const key = (name: string): ObjectKey => ({ name });

  it('takes every step of the deletion of an object with finalizers, and nothing else', async () => {
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
    // One that is not deleted, beside one that is, in one transaction.
    const mixed = store.transact([
      { op: 'deleteByName', kind: things, key: key('b') },
      { op: 'updateStatus', kind: things, key: key('other'), status: { state: 'y' } },
    ]);
    expect(await refusal(mixed)).to.equal('DiskFull');
    expect((await store.get(things, key('b')))?.metadata.deletionRequestedAt).to.equal(undefined);
    await store.close();
  });

  it('takes the small records that deletions depend on, and no large ones', async () => {
    const { store, setFree } = await nearlyFull();
    await setFree(0.8 * floor);
    await store.create(journal, { name: 'intent', text: 'delete a' });
    const text = 'x'.repeat(20_000);
    expect(await refusal(store.create(journal, { name: 'large', text }))).to.equal('DiskFull');
    const together = store.transact([
      { op: 'deleteByName', kind: things, key: key('a') },
      { op: 'create', kind: journal, object: { name: 'beside' } },
    ]);
    expect(await refusal(together)).to.equal('taken');
    await store.close();
  });

  it('lets nobody fill the rest by way of objects that are being deleted', async () => {
    const { store, setFree } = await nearlyFull();
    await setFree(0.8 * floor);
    await store.deleteByName(things, key('a'));
    const large = { state: 'x'.repeat(1_000_000) };
    expect(await refusal(store.updateStatus(things, key('a'), large))).to.equal('DiskFull');
    // Small steps that make it large: each is written whole, and the half of the floor ends them.
    let state = '';
    let taken = 0;
    for (let n = 0; n < 20_000; n += 1) {
      state += 'x'.repeat(4_000);
      if ((await refusal(store.updateStatus(things, key('a'), { state }))) !== 'taken') break;
      taken += state.length;
    }
    expect(taken).to.be.within(0.2 * floor, 0.31 * floor);
    expect(await refusal(store.deleteByName(things, key('plain')))).to.equal('taken');
    await store.close();
  });

  it('below half of the floor takes final deletions only, and everything again when there is room', async () => {
    const { store, setFree } = await nearlyFull();
    await setFree(0.4 * floor);
    expect(await refusal(store.deleteByName(things, key('a')))).to.equal('DiskFull');
    expect(await refusal(store.deleteByName(things, key('plain')))).to.equal('taken');
    await setFree(0.9 * floor);
    expect(await refusal(store.deleteByName(things, key('a')))).to.equal('taken');
    await setFree(2 * floor);
    expect(await refusal(store.create(things, { name: 'new' }))).to.equal('taken');
    await store.close();
  });
});
