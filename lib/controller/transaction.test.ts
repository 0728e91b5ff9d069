import { expect } from 'chai';
import { hasCode } from '../base/index.js';
import { type ApiObject, defineKind, parseLabelSelector } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { runTransaction, type Transaction } from './transaction.js';

interface Lamp extends ApiObject {
  readonly on?: boolean;
  readonly lit?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['lit'],
});
const hall = { name: 'hall' };

describe('transaction of a reconcile', () => {
  let store: ObjectStore;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());

  const errorOf = (work: (txn: Transaction) => void | Promise<void>): Promise<unknown> =>
    runTransaction(
      store,
      work,
      () => [],
      () => undefined,
    ).then(
      () => undefined,
      (error: unknown) => error,
    );

  it('refuses a stale object, also where it has read a newer one', async () => {
    const stale = await store.create(lamps, { ...hall, on: true });
    const newer = await store.update(lamps, { ...stale, on: false });
    const unread = await errorOf((txn) => txn.update(lamps, { ...stale, on: true }));
    expect(hasCode(unread, 'Aborted') && unread.reason).to.equal('Conflict');
    const read = await errorOf(async (txn) => {
      expect(await txn.get(lamps, hall)).to.deep.equal(newer);
      txn.update(lamps, { ...stale, on: true });
    });
    expect(hasCode(read, 'Aborted') && read.reason).to.equal('Conflict');
    const behindAnother = await errorOf((txn) => {
      txn.updateStatus(lamps, hall, { lit: true });
      txn.update(lamps, { ...stale, on: true });
    });
    expect(hasCode(behindAnother, 'Aborted') && behindAnother.reason).to.equal('Conflict');
    expect(await store.get(lamps, hall)).to.deep.equal(newer);
  });

  it('writes one object several times, each write guarded by the state before the transaction', async () => {
    for (const reads of [true, false]) {
      const made = await store.create(lamps, { ...hall, on: false });
      const old = await store.create(lamps, { name: 'old' });
      const error = await errorOf(async (txn) => {
        if (reads) await txn.get(lamps, hall);
        txn.updateStatus(lamps, hall, { lit: true });
        txn.update(lamps, { ...made, labels: { seen: 'yes' } });
        txn.update(lamps, { ...made, on: true });
        txn.updateStatus(lamps, { name: 'old' }, { lit: true });
        txn.delete(lamps, old);
      });
      expect(error).to.equal(undefined);
      const now = await store.get(lamps, hall);
      expect(now).to.include({ on: true, lit: true }).and.not.to.have.property('labels');
      expect(await store.get(lamps, { name: 'old' })).to.equal(undefined);
      await store.deleteByName(lamps, hall);
    }
  });

  it('commits only if what it listed is still so, and does the work again from what is there then', async () => {
    const inHall = parseLabelSelector('room=hall');
    for (const name of ['a', 'b']) await store.create(lamps, { name, labels: { room: 'hall' } });
    await store.create(lamps, { name: 'c', on: true });
    const seen: number[] = [];
    const result = await runTransaction(
      store,
      async (txn) => {
        const listed = await txn.list(lamps, { labels: inHall });
        seen.push(listed.length);
        if (seen.length === 1) await store.deleteByName(lamps, { name: 'b' });
        for (const found of listed) txn.updateStatus(lamps, { name: found.name }, { lit: true });
        txn.create(lamps, { name: `of ${listed.length}` });
        return listed.map((found) => found.name);
      },
      () => [],
      () => undefined,
    );
    expect(seen).to.deep.equal([2, 1]);
    expect(result).to.deep.equal(['a']);
    const names = (await store.list(lamps)).items.map((found) => found.name);
    expect(names).to.deep.equal(['a', 'c', 'of 1']);
    expect((await store.get(lamps, { name: 'a' }))?.lit).to.equal(true);
  });

  it('does the work again when an object that it read is gone, and fails for one it never saw', async () => {
    await store.create(lamps, hall);
    let tries = 0;
    const overtaken = await errorOf(async (txn) => {
      tries += 1;
      const found = await txn.get(lamps, hall);
      if (tries === 1) await store.deleteByName(lamps, hall);
      if (found) txn.updateStatus(lamps, hall, { lit: true });
      else txn.create(lamps, { name: 'instead' });
    });
    expect([overtaken, tries]).to.deep.equal([undefined, 2]);
    expect(await store.get(lamps, { name: 'instead' })).to.not.equal(undefined);
    const unseen = await errorOf((txn) => {
      tries += 1;
      txn.updateStatus(lamps, hall, { lit: true });
    });
    expect([hasCode(unseen, 'NotFound'), tries]).to.deep.equal([true, 3]);
  });

  it('keeps to what it read first, when a later list shows something newer', async () => {
    const made = await store.create(lamps, { ...hall, on: true });
    let tries = 0;
    const error = await errorOf(async (txn) => {
      tries += 1;
      const found = await txn.get(lamps, hall);
      if (tries === 1) await store.update(lamps, { ...made, on: false });
      await txn.list(lamps);
      if (found) txn.update(lamps, { ...found, labels: { tries: String(tries) } });
    });
    expect([error, tries]).to.deep.equal([undefined, 2]);
    expect(await store.get(lamps, hall)).to.include({ on: false });
  });

  it('deletes the object it was given, and not another one that has its name by then', async () => {
    const first = await store.create(lamps, hall);
    await store.deleteByName(lamps, hall);
    const second = await store.create(lamps, hall);
    const refused = await errorOf((txn) => txn.delete(lamps, first));
    expect(hasCode(refused, 'Aborted')).to.equal(true);
    expect(await store.get(lamps, hall)).to.deep.equal(second);
    expect(await errorOf((txn) => txn.deleteByName(lamps, hall))).to.equal(undefined);
    expect(await store.get(lamps, hall)).to.equal(undefined);
  });

  it('overwrites what it did not read, when told to', async () => {
    const stale = await store.create(lamps, { ...hall, on: true });
    await store.update(lamps, { ...stale, on: false });
    expect(await errorOf((txn) => txn.overwrite(lamps, { ...hall, on: true }))).to.equal(undefined);
    expect((await store.get(lamps, hall))?.on).to.equal(true);
  });
});
