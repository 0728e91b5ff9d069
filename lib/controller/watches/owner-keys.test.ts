import { expect } from 'chai';
import { SharedInformer } from '../../informer/index.js';
import { type AnyKind, type ApiObject, defineKind, ownerReference } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import { done, newController } from '../index.js';

const kindOfScope = (kind: string, scope: 'Cluster' | 'Namespaced') =>
  defineKind<ApiObject>({ kind, plural: `${kind.toLowerCase()}s`, scope, statusFields: [] });
const houses = kindOfScope('House', 'Cluster');
const rooms = kindOfScope('Room', 'Namespaced');
const lamps = kindOfScope('Lamp', 'Namespaced');
const poles = kindOfScope('Pole', 'Cluster');

describe('keys of owners', () => {
  let store: ObjectStore;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());

  /** Returns the keys that the creation of `dependent` queues. */
  async function queuedKeys(
    owner: AnyKind,
    owners: readonly ApiObject[],
    dependent: { readonly kind: typeof lamps; readonly namespace?: string },
  ): Promise<readonly unknown[]> {
    const keys: unknown[] = [];
    const clock = new FakeClock();
    const source = store.source(dependent.kind);
    await using informer = new SharedInformer({ source, name: 'dependents', clock });
    await using controller = newController({
      name: 'owner',
      clock,
      reconcile: async ({ key }) => {
        keys.push(key);
        return done();
      },
    }).owns(informer, owner);
    informer.start();
    await controller.start();
    const ownerReferences = owners.map((object) => ownerReference(owner, object));
    const { namespace } = dependent;
    const key = { name: 'x', ...(namespace === undefined ? {} : { namespace }) };
    await store.create(dependent.kind, { ...key, metadata: { ownerReferences } });
    await settle();
    return keys;
  }

  it('a cluster-scoped owner of a namespaced object is queued by its name alone', async () => {
    const house = await store.create(houses, { name: 'home' });
    const keys = await queuedKeys(houses, [house], { kind: lamps, namespace: 'default' });
    expect(keys).to.deep.equal([{ name: 'home' }]);
  });

  it('a namespaced owner is queued in the namespace of its dependent, each of several once', async () => {
    const all = [];
    for (const name of ['hall', 'attic', 'hall'])
      all.push(
        (await store.get(rooms, { namespace: 'default', name })) ??
          (await store.create(rooms, { namespace: 'default', name })),
      );
    const keys = await queuedKeys(rooms, all, { kind: lamps, namespace: 'default' });
    expect(keys).to.deep.equal([
      { namespace: 'default', name: 'hall' },
      { namespace: 'default', name: 'attic' },
    ]);
  });

  it('a cluster-scoped owner of a cluster-scoped object is queued by its name', async () => {
    const house = await store.create(houses, { name: 'home' });
    expect(await queuedKeys(houses, [house], { kind: poles })).to.deep.equal([{ name: 'home' }]);
  });

  it('a namespaced owner of a cluster-scoped object cannot be found and queues no key', async () => {
    const room = await store.create(rooms, { namespace: 'default', name: 'hall' });
    expect(await queuedKeys(rooms, [room], { kind: poles })).to.deep.equal([]);
  });

  it('an owner given by its name alone is refused, because its scope is unknown', () => {
    const informer = new SharedInformer({ source: store.source(lamps), name: 'lamps' });
    const controller = newController({ name: 'owner', reconcile: async () => done() });
    expect(() => controller.owns(informer, 'House' as never)).to.throw(TypeError, '"House"');
  });
});
