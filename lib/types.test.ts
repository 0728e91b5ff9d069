import { expect } from 'chai';
import {
  type AnyKind,
  type ApiObject,
  type Condition,
  defineKind,
  done,
  type IndexOf,
  type Kind,
  kindOf,
  Manager,
  matchFields,
  MemoryEngine,
  modifyStatus,
  newController,
  type ObjectOf,
  type ObjectStore,
  type ReconcileContext,
  openStore,
  ownerReference,
  reconcileObject,
  type Result,
  SharedInformer,
  stateMachine,
  type StatusOf,
  type Tombstone,
  type Transaction,
  type WatchEvent,
} from './index.js';

/**
 * Code that must not compile is marked by `@ts-expect-error`: the build fails if it compiles. The run only checks
 * that the commit refuses the same transitions.
 */
type Equal<A, B> =
  (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
const proven = <_T extends true>(): void => undefined;

type Phase = 'Off' | 'Warming' | 'On';
interface Lamp extends ApiObject {
  readonly room: string;
  readonly phase?: Phase;
  readonly watts?: number;
}
const phases = stateMachine('phase', 'Off', {
  Off: ['Warming'],
  Warming: ['On', 'Off'],
  On: ['Off'],
});
const lamps = kindOf<Lamp>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['phase', 'watts'],
  initialStatus: { phase: 'Off' },
  indexes: { room: (lamp) => [lamp.room] },
  states: phases,
});
const key = { name: 'hall' };

interface Order extends ApiObject {
  readonly customer: string;
  readonly conditions?: readonly Condition[];
}
const orders = kindOf<Order>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: ['conditions'],
});
const message = (work: () => unknown): string => {
  try {
    work();
    return '';
  } catch (error) {
    return String(error);
  }
};

describe('types from one kind', () => {
  it('infer object, status and index names', () => {
    proven<Equal<ObjectOf<typeof lamps>, Lamp>>();
    proven<Equal<StatusOf<typeof lamps>, Pick<Lamp, 'phase' | 'watts'>>>();
    proven<Equal<IndexOf<typeof lamps>, 'room'>>();
    // @ts-expect-error a status field that the object does not have
    kindOf<Lamp>()({ kind: 'X', plural: 'x', scope: 'Cluster', statusFields: ['colour'] });
    expect(lamps.statusFields).to.deep.equal(['phase', 'watts']);
  });

  it('status can only be written by the status path, indexes only be queried by their names', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const manager = new Manager({ store });
    const informer = manager.informer(lamps);
    await manager.start();
    await store.create(lamps, { ...key, room: 'hall' });
    expect(informer.lister.byIndex('room', 'hall')).to.have.length(1);
    const wrong = (): void => {
      // @ts-expect-error room is not status
      void store.updateStatus(lamps, key, { room: 'attic' });
      // @ts-expect-error no such index
      informer.lister.byIndex('floor', '1');
      // @ts-expect-error a lamp needs a room
      void store.create(lamps, { name: 'x' });
      // @ts-expect-error no such field
      matchFields(lamps, { colour: 'red' });
      // @ts-expect-error phase has no such value
      matchFields(lamps, { phase: 'Broken' });
      // @ts-expect-error cached objects are read-only
      informer.lister.list()[0]!.room = 'attic';
    };
    expect(wrong).to.be.a('function');
    const { items } = await store.list(lamps, { fields: matchFields(lamps, { phase: 'Off' }) });
    expect(items).to.have.length(1);
    await manager.stop(100);
    await store.close();
  });

  it('an update without a version and a deletion by name do not compile with the guarded calls', () => {
    const wrong = (store: ObjectStore, txn: Transaction): void => {
      // @ts-expect-error an object that was not read
      void store.update(lamps, { ...key, room: 'hall' });
      // @ts-expect-error a name is not the object that was read
      void store.delete(lamps, key);
      // @ts-expect-error an object that was not read
      txn.update(lamps, { ...key, room: 'hall' });
      // @ts-expect-error a name is not the object that was read
      txn.delete(lamps, key);
      // @ts-expect-error an update in a transaction has a guard
      void store.transact([{ op: 'update', kind: lamps, object: key }]);
      // @ts-expect-error a deletion has a uid
      void store.transact([{ op: 'delete', kind: lamps, key, precondition: { fields: {} } }]);
      void store.overwrite(lamps, { ...key, room: 'hall' });
      void store.deleteByName(lamps, key);
      void store.transact([
        { op: 'overwrite', kind: lamps, object: key },
        { op: 'deleteByName', kind: lamps, key },
      ]);
    };
    expect(wrong).to.be.a('function');
  });

  it('a kind of lamps is a kind: registries and functions over kinds accept it without a cast', async () => {
    const table: readonly AnyKind[] = [lamps, orders];
    const any: Kind = lamps;
    const named: Kind<Lamp> = lamps;
    const informers = new Map<string, SharedInformer>();
    await using store = await openStore({ engine: new MemoryEngine() });
    informers.set('lamps', new SharedInformer({ source: store.source(lamps), name: 'lamps' }));
    const count = async (kind: AnyKind): Promise<number> => (await store.list(kind)).items.length;
    expect(await Promise.all(table.map(count))).to.deep.equal([0, 0]);
    const wrong = (): void => {
      // @ts-expect-error a lamp is not an order
      const other: Kind<Order> = lamps;
      // @ts-expect-error an object of any kind may not be a lamp
      const back: Kind<Lamp> = any;
      // @ts-expect-error the status fields are not known
      const known: Kind<Lamp, 'phase'> = named;
      expect([other, back, known]).to.have.length(3);
    };
    expect(wrong).to.be.a('function');
  });

  it('a status change has only status fields, also with modifyStatus', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    await store.create(lamps, { ...key, room: 'hall' });
    const lit = await modifyStatus(store, lamps, key, () => ({ watts: 60 }));
    expect(lit?.watts).to.equal(60);
    const loose = defineKind<Lamp>({
      kind: 'Lamp',
      plural: 'lamps',
      scope: 'Cluster',
      statusFields: ['watts'],
    });
    const wrong = (): void => {
      // @ts-expect-error room is not status
      void modifyStatus(store, lamps, key, () => ({ room: 'attic' }));
      // @ts-expect-error nor beside a field that is
      void modifyStatus(store, lamps, key, (lamp) => ({ watts: 1, room: lamp.room }));
      // @ts-expect-error labels are not a status field of any Kind
      void store.updateStatus(loose, key, { labels: {} });
      // @ts-expect-error metadata is not a status field either
      void modifyStatus(store, loose, key, ({ metadata }) => ({ metadata }));
    };
    expect(wrong).to.be.a('function');
  });

  it('conditionsOf accepts a kind whose status has conditions', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const reconcile = (): Promise<Result> => Promise.resolve(done());
    newController({ name: 'a', store, reconcile, conditionsOf: orders });
    const wrong = (): void => {
      // @ts-expect-error a lamp has no conditions
      newController({ name: 'b', store, reconcile, conditionsOf: lamps });
    };
    expect(wrong).to.be.a('function');
    const specified = kindOf<Order>()({
      kind: 'Order',
      plural: 'orders',
      scope: 'Namespaced',
      statusFields: [],
    });
    expect(
      message(() => newController({ name: 'c', store, reconcile, conditionsOf: specified })),
    ).to.contain('"conditions" is not a status field of Order');
  });

  it('an object of a namespaced kind is not created without a namespace', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const made = await store.create(orders, { namespace: 'default', name: 'one', customer: 'ann' });
    expect(ownerReference(orders, made)).to.deep.include({ kind: 'Order', name: 'one' });
    const declared = defineKind<Order>({
      kind: 'Order',
      plural: 'orders',
      scope: 'Namespaced',
      statusFields: [],
    });
    const wrong = (): void => {
      // @ts-expect-error no namespace
      void store.create(orders, { name: 'one', customer: 'ann' });
      // @ts-expect-error no namespace
      void store.create(declared, { name: 'one', customer: 'ann' });
      newController({
        name: 'a',
        store,
        reconcile: (context) =>
          context.txn((txn) => {
            // @ts-expect-error no namespace
            txn.create(orders, { name: 'one', customer: 'ann' });
            return done();
          }),
      });
      // @ts-expect-error an owner's kind is a kind, not a string
      ownerReference('Order', made);
      // @ts-expect-error an order is not a lamp
      ownerReference(lamps, made);
    };
    expect(wrong).to.be.a('function');
  });

  it('two kinds of one name do not share an informer', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const manager = new Manager({ store });
    const informer = manager.informer(lamps);
    expect(manager.informer(lamps)).to.equal(informer);
    const twin = defineKind<Order>({
      kind: 'Lamp',
      plural: 'lamps',
      scope: 'Cluster',
      statusFields: [],
    });
    expect(message(() => manager.informer(twin))).to.contain('two kinds are named "Lamp"');
  });

  it('illegal transitions do not compile, and are refused at the commit if types are bypassed', async () => {
    const to: { readonly phase: 'Warming' } = phases.move('Off', 'Warming');
    expect(to).to.deep.equal({ phase: 'Warming' });
    const wrong = (phase: Phase, either: 'Warming' | 'On'): void => {
      // @ts-expect-error off lamps must warm up first
      phases.move('Off', 'On');
      // @ts-expect-error not every phase may move to On
      phases.move(phase, 'On');
      // @ts-expect-error no such state
      phases.move('Off', 'Broken');
      phases.move(either, 'Off');
      // @ts-expect-error a move to a state that is not declared
      stateMachine('phase', 'Off', { Off: ['Gone'] });
      // @ts-expect-error an initial state that is not declared
      stateMachine('phase', 'Gone', { Off: ['Off'] });
    };
    expect(wrong).to.be.a('function');
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(lamps, { ...key, room: 'hall' });
    const refusal = await store
      .updateStatus(lamps, key, { phase: 'On' })
      .catch((e: unknown) => String(e));
    expect(refusal).to.contain('invalid transition of phase from Off');
    await store.updateStatus(lamps, key, phases.move('Off', 'Warming'));
    await store.updateStatus(lamps, key, { watts: 60 });
    const born = await store
      .create(lamps, { name: 'x', room: 'hall', phase: 'On' })
      .catch((e: unknown) => String(e));
    expect(born).to.contain('invalid transition of phase from its creation');
    await store.close();
  });

  it('events, tombstones and results are unions that must be narrowed', () => {
    const event = (e: WatchEvent<Lamp>): string => {
      // @ts-expect-error only modifications have a previous state
      void e.previous;
      return e.type === 'MODIFIED' ? (e.previous?.room ?? '') : e.object.room;
    };
    const gone = (tombstone: Tombstone<Lamp>): string =>
      tombstone.known ? tombstone.object.room : `perhaps ${tombstone.object.room}`;
    const delayOf = (result: Result): number => {
      // @ts-expect-error only one of them has a delay
      void result.delayMs;
      switch (result.type) {
        case 'done':
          return 0;
        case 'requeueAfter':
          return result.delayMs;
        case 'pending':
          return result.pollAfterMs;
        case 'retry':
          return 1;
        case 'fail':
          return result.reason.length;
      }
    };
    expect([event, gone, delayOf].every((f) => typeof f === 'function')).to.equal(true);
  });

  it('a reconciler of objects gets the object type of the kind, and txn only with a store', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const informer = new Manager({ store }).informer(lamps);
    const reconcile = reconcileObject(informer, async (lamp) => {
      proven<Equal<typeof lamp, Lamp>>();
      return lamp.room === '' ? done() : done();
    });
    newController({ name: 'a', reconcile });
    newController({
      name: 'b',
      store,
      reconcile: (context) =>
        context.txn((txn) => {
          // @ts-expect-error room is not status
          txn.updateStatus(lamps, context.key, { room: 'attic' });
          return done();
        }),
    });
    const needsStore = (context: ReconcileContext): Promise<Result> => context.txn(() => done());
    // @ts-expect-error without a store there is no txn
    newController({ name: 'c', reconcile: needsStore });
    // @ts-expect-error a reconciler must return a result
    newController({ name: 'd', reconcile: async () => undefined });
  });
});
