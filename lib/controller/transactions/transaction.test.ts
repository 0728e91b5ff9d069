import { expect } from 'chai';
import { hasCode } from '../../base/index.js';
import { type ApiObject, defineKind, kindOf, parseLabelSelector } from '../../object/index.js';
import {
  MemoryEngine,
  modify,
  type ObjectStore,
  openStore,
  removeFinalizer,
} from '../../store/index.js';
import { runTransaction } from './transaction.js';
import type { Transaction } from './transaction-contract.js';
import type { Watching } from './transaction-reads.js';

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
interface Node extends ApiObject {
  readonly load?: number;
  readonly ready?: boolean;
}
const nodes = kindOf<Node>()({
  kind: 'Leaf',
  plural: 'leaves',
  scope: 'Namespaced',
  statusFields: ['load', 'ready'],
  indexes: { zone: ({ labels }) => (labels?.zone === undefined ? [] : [labels.zone]) },
});
const tiers = kindOf<ApiObject>()({
  kind: 'Tier',
  plural: 'tiers',
  scope: 'Cluster',
  statusFields: [],
  rarelyWritten: true,
});

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

  it('refuses a stale object, even if it has read a newer one', async () => {
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

  it('commits only if its lists are still valid; otherwise it runs the work again', async () => {
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

  it('runs the work again if an object that it read was deleted, and fails for one that it did not read', async () => {
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

  it('is guarded by its first read of an object even if a later list has a newer state', async () => {
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

  it('deletes only the given object, not another one that has its name by then', async () => {
    const first = await store.create(lamps, hall);
    await store.deleteByName(lamps, hall);
    const second = await store.create(lamps, hall);
    const refused = await errorOf((txn) => txn.delete(lamps, first));
    expect(hasCode(refused, 'Aborted')).to.equal(true);
    expect(await store.get(lamps, hall)).to.deep.equal(second);
    expect(await errorOf((txn) => txn.deleteByName(lamps, hall))).to.equal(undefined);
    expect(await store.get(lamps, hall)).to.equal(undefined);
  });

  it('overwrites an object that it did not read', async () => {
    const stale = await store.create(lamps, { ...hall, on: true });
    await store.update(lamps, { ...stale, on: false });
    expect(await errorOf((txn) => txn.overwrite(lamps, { ...hall, on: true }))).to.equal(undefined);
    expect((await store.get(lamps, hall))?.on).to.equal(true);
  });

  describe('watches only the requested part of its reads', () => {
    /** Returns the attempts of a transaction if `meanwhile` happens during the first one. */
    async function triesOf(
      read: (txn: Transaction) => Promise<unknown>,
      meanwhile: () => Promise<unknown>,
    ): Promise<number> {
      let tries = 0;
      const error = await errorOf(async (txn) => {
        tries += 1;
        await read(txn);
        if (tries === 1) await meanwhile();
        txn.create(lamps, { name: `made ${store.revision}` });
      });
      expect(error).to.equal(undefined);
      return tries;
    }
    const key = { namespace: 'rack', name: 'n1' };
    const beat = (load: number) => () => store.updateStatus(nodes, key, { load });
    const relabel = (zone: string) => () =>
      modify(store, nodes, key, (node) => ({ ...node, labels: { zone } }));

    beforeEach(async () => {
      await store.create(nodes, { ...key, metadata: { finalizers: ['x/one'] } });
    });

    it('a heartbeat does not conflict with a reader of the labels of a node', async () => {
      const byGeneration = (txn: Transaction) => txn.get(nodes, key, { watching: 'generation' });
      expect(await triesOf(byGeneration, beat(1))).to.equal(1);
      expect(await triesOf((txn) => txn.get(nodes, key), beat(2))).to.equal(2);
      expect(await triesOf(byGeneration, relabel('b'))).to.equal(2);
      expect(await triesOf(byGeneration, () => store.deleteByName(nodes, key))).to.equal(2);
    });

    it('a change of the spec does not conflict with a reader of a status field, a change of the field does', async () => {
      const byLoad = (txn: Transaction) => txn.get(nodes, key, { watching: ['load'] });
      expect(await triesOf(byLoad, relabel('b'))).to.equal(1);
      const ready = () => store.updateStatus(nodes, key, { ready: true });
      expect(await triesOf(byLoad, ready)).to.equal(1);
      expect(await triesOf(byLoad, beat(7))).to.equal(2);
      const recreate = async () => {
        await removeFinalizer(store, nodes, (await store.get(nodes, key)) as Node, 'x/one');
        await store.deleteByName(nodes, key);
        await store.create(nodes, key);
        await store.updateStatus(nodes, key, { load: 7 });
      };
      expect(await triesOf(byLoad, recreate)).to.equal(2);
    });

    it('reading an object twice watches the parts of both reads', async () => {
      const both = async (txn: Transaction) => {
        await txn.get(nodes, key, { watching: 'generation' });
        await txn.get(nodes, key, { watching: ['load'] });
      };
      expect(await triesOf(both, () => store.updateStatus(nodes, key, { ready: true }))).to.equal(
        1,
      );
      expect(await triesOf(both, beat(3))).to.equal(2);
      expect(await triesOf(both, relabel('c'))).to.equal(2);
    });

    it('detects objects that are created in a listed scope: a namespace, a value of an index, a rarely written kind', async () => {
      let made = 0;
      const create = (namespace: string, zone: string) => () =>
        store.create(nodes, { namespace, name: `new${(made += 1)}`, labels: { zone } });
      const inRack = (txn: Transaction) => txn.list(nodes, { namespace: 'rack' });
      expect(await triesOf(inRack, create('rack', 'a'))).to.equal(2);
      expect(await triesOf(inRack, create('attic', 'a'))).to.equal(1);
      const inZone = (txn: Transaction) =>
        txn.list(nodes, { index: 'zone', value: 'z', watching: 'generation' });
      expect(await triesOf(inZone, create('attic', 'z'))).to.equal(2);
      expect(await triesOf(inZone, create('attic', 'y'))).to.equal(1);
      const tiered = (txn: Transaction) => txn.list(tiers, { labels: parseLabelSelector('x=y') });
      const tier = () => store.create(tiers, { name: `t${(made += 1)}`, labels: { x: 'y' } });
      expect(await triesOf(tiered, tier)).to.equal(2);
      // A list of all objects of another kind detects changes of the listed objects, not creations.
      expect(await triesOf((txn) => txn.list(nodes), create('rack', 'a'))).to.equal(1);
    });

    it('detects an object that is created between two lists of one scope', async () => {
      let tries = 0;
      const seen: number[] = [];
      await runTransaction(
        store,
        async (txn) => {
          tries += 1;
          seen.push((await txn.list(nodes, { namespace: 'rack' })).length);
          if (tries === 1) await store.create(nodes, { namespace: 'rack', name: 'between' });
          await txn.list(nodes, { namespace: 'rack' });
          txn.create(tiers, { name: `tier${tries}` });
        },
        () => [],
        () => undefined,
      );
      expect(tries).to.equal(2);
      expect((seen[1] ?? 0) - (seen[0] ?? 0)).to.equal(1);
    });

    it('a heartbeat conflicts with a list of versions, not with one of generations or other status fields', async () => {
      const list = (watching: Watching<'load' | 'ready'>) => (txn: Transaction) =>
        txn.list(nodes, { namespace: 'rack', watching });
      expect(await triesOf(list('version'), beat(1))).to.equal(2);
      expect(await triesOf(list('generation'), beat(2))).to.equal(1);
      expect(await triesOf(list(['ready']), beat(3))).to.equal(1);
      expect(await triesOf(list(['load']), beat(4))).to.equal(2);
      expect(await triesOf(list('generation'), relabel('q'))).to.equal(2);
    });

    it('a write of an object that was read by its generation is guarded by its version', async () => {
      let tries = 0;
      const error = await errorOf(async (txn) => {
        tries += 1;
        const node = await txn.get(nodes, key, { watching: 'generation' });
        if (tries === 1) await beat(5)();
        // The second write of an object is guarded by the version that was read.
        txn.updateStatus(nodes, key, { ready: true });
        if (node) txn.update(nodes, { ...node, labels: { zone: 'x' } });
      });
      expect([error, tries]).to.deep.equal([undefined, 2]);
      expect((await store.get(nodes, key))?.load).to.equal(5);
    });
  });
});
