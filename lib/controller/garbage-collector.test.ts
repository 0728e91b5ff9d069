import { expect } from 'chai';
import { SharedInformer } from '../informer/index.js';
import { type ApiObject, defineKind, ownerReference } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { collected, newGarbageCollector } from './index.js';

interface Lamp extends ApiObject {
  readonly room?: { readonly name: string };
  readonly lit?: boolean;
}
const kinds = ['Lamp', 'Bulb'].map((kind) =>
  defineKind<Lamp>({
    kind,
    plural: `${kind.toLowerCase()}s`,
    scope: 'Namespaced',
    statusFields: ['lit'],
  }),
);
const [lamps, bulbs] = [kinds[0]!, kinds[1]!];
const houses = defineKind<ApiObject>({
  kind: 'House',
  plural: 'houses',
  scope: 'Cluster',
  statusFields: [],
});
const inDefault = (name: string) => ({ namespace: 'default', name });

describe('garbage collector', () => {
  let store: ObjectStore;
  let close: () => Promise<void>;
  /** Runs once, before the next deletion of the collector. */
  let meanwhile: (() => Promise<unknown>) | undefined;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    const clock = new FakeClock();
    const all = [lamps, bulbs, houses] as (typeof lamps)[];
    const made = all.map((kind) => {
      const informer = new SharedInformer({ source: store.source(kind), name: kind.kind, clock });
      return { kind, informer };
    });
    const raced = new Proxy(store, {
      get: (target, property): unknown => {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...given: unknown[]) => unknown;
        if (property !== 'delete') return method;
        return async (...given: unknown[]) => {
          const other = meanwhile;
          meanwhile = undefined;
          await other?.();
          return method(...given);
        };
      },
    });
    const collector = newGarbageCollector({
      store: raced,
      clock,
      kinds: made.map(({ kind, informer }) => collected(kind, informer)),
    });
    for (const { informer } of made) informer.start();
    await collector.start();
    close = async () => {
      await collector.stop(0);
      await Promise.all(made.map(({ informer }) => informer.close()));
      await store.close();
    };
  });
  afterEach(() => close());
  const left = async (kind: typeof lamps) => (await store.list(kind)).items.map((o) => o.name);

  it('deletes dependents of deleted owners, transitively, in every namespace', async () => {
    const house = await store.create(houses, { name: 'home' });
    const ownerReferences = [ownerReference(houses, house)];
    const lamp = await store.create(lamps, { ...inDefault('lamp'), metadata: { ownerReferences } });
    await store.create(lamps, { namespace: 'far', name: 'lamp', metadata: { ownerReferences } });
    await store.create(bulbs, {
      ...inDefault('bulb'),
      metadata: { ownerReferences: [ownerReference(lamps, lamp)] },
    });
    await store.create(bulbs, inDefault('free'));
    await settle();
    expect(await left(bulbs)).to.deep.equal(['bulb', 'free']);
    await store.deleteByName(houses, { name: 'home' });
    await settle();
    await settle();
    expect(await left(lamps)).to.deep.equal([]);
    expect(await left(bulbs)).to.deep.equal(['free']);
  });

  it('keeps objects with a remaining owner, and those with owners of unknown kinds', async () => {
    const [a, b] = [
      await store.create(lamps, inDefault('a')),
      await store.create(lamps, inDefault('b')),
    ];
    const ownerReferences = [ownerReference(lamps, a), ownerReference(lamps, b)];
    await store.create(bulbs, { ...inDefault('shared'), metadata: { ownerReferences } });
    const unknown = [{ kind: 'Dragon', name: 'x', uid: 'y' }];
    await store.create(bulbs, { ...inDefault('odd'), metadata: { ownerReferences: unknown } });
    await store.deleteByName(lamps, inDefault('a'));
    await settle();
    expect(await left(bulbs)).to.deep.equal(['odd', 'shared']);
    await store.deleteByName(lamps, inDefault('b'));
    await settle();
    expect(await left(bulbs)).to.deep.equal(['odd']);
  });

  it('keeps an object that gets another owner right before its deletion', async () => {
    const [a, b] = [
      await store.create(lamps, inDefault('a')),
      await store.create(lamps, inDefault('b')),
    ];
    const bulb = await store.create(bulbs, {
      ...inDefault('bulb'),
      metadata: { ownerReferences: [ownerReference(lamps, a)] },
    });
    await settle();
    const ownerReferences = [ownerReference(lamps, b)];
    meanwhile = () =>
      store.update(bulbs, { ...bulb, metadata: { ...bulb.metadata, ownerReferences } });
    await store.deleteByName(lamps, inDefault('a'));
    await settle();
    expect(meanwhile, 'its deletion was attempted').to.equal(undefined);
    expect(await left(bulbs)).to.deep.equal(['bulb']);
  });

  it('never collects a cluster-scoped object with a namespaced owner, whose namespace is unknown', async () => {
    const lamp = await store.create(lamps, inDefault('lamp'));
    const ownerReferences = [ownerReference(lamps, lamp)];
    await store.create(houses, { name: 'odd', metadata: { ownerReferences } });
    await settle();
    await store.delete(lamps, lamp);
    await settle();
    expect((await store.list(houses)).items.map((o) => o.name)).to.deep.equal(['odd']);
  });

  it('deletes an object whose owner has the name of its reference but another uid', async () => {
    const a = await store.create(lamps, inDefault('a'));
    await store.deleteByName(lamps, inDefault('a'));
    await store.create(lamps, inDefault('a'));
    const ownerReferences = [ownerReference(lamps, a)];
    await store.create(bulbs, { ...inDefault('orphan'), metadata: { ownerReferences } });
    await settle();
    expect(await left(bulbs)).to.deep.equal([]);
  });
});
