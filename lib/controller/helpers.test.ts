import { expect } from 'chai';
import { SharedInformer } from '../informer/index.js';
import { type ApiObject, defineKind, ownerReference } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, RecordingMetrics, settle } from '../testing/index.js';
import {
  allOf,
  annotationsChanged,
  anyOf,
  collected,
  EventRecorder,
  events,
  fieldsChanged,
  generationChanged,
  labelsChanged,
  newGarbageCollector,
  not,
  statusChanged,
} from './index.js';

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

describe('predicates', () => {
  const base: Lamp = {
    name: 'a',
    labels: { x: '1' },
    room: { name: 'hall' },
    lit: false,
    metadata: { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
  };
  const next = (change: Partial<Lamp>, meta: Partial<Lamp['metadata']> = {}): Lamp => ({
    ...base,
    ...change,
    metadata: { ...base.metadata, ...meta },
  });

  it('see what they are named for and nothing else', () => {
    const generation = generationChanged<Lamp>();
    expect(generation(base, next({}, { generation: 2 }))).to.equal(true);
    expect(generation(base, next({}, { deletionRequestedAt: 'now' }))).to.equal(true);
    expect(generation(base, next({ lit: true }))).to.equal(false);
    expect(labelsChanged<Lamp>()(base, next({ labels: { x: '2' } }))).to.equal(true);
    expect(labelsChanged<Lamp>()(base, next({ labels: { x: '1' } }))).to.equal(false);
    expect(annotationsChanged<Lamp>()(base, next({}, { annotations: { y: '' } }))).to.equal(true);
    expect(fieldsChanged<Lamp>('room.name')(base, next({ room: { name: 'x' } }))).to.equal(true);
    expect(fieldsChanged<Lamp>('room.name')(base, next({ room: { name: 'hall' } }))).to.equal(
      false,
    );
    expect(statusChanged(lamps)(base, next({ lit: true }))).to.equal(true);
  });

  it('combine', () => {
    const yes = () => true;
    const no = () => false;
    expect(anyOf<Lamp>(no, yes)(base, base)).to.equal(true);
    expect(allOf<Lamp>(no, yes)(base, base)).to.equal(false);
    expect(not<Lamp>(no)(base, base)).to.equal(true);
  });
});

describe('garbage collector', () => {
  let store: ObjectStore;
  let end: () => Promise<void>;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    const clock = new FakeClock();
    const all = [lamps, bulbs, houses] as (typeof lamps)[];
    const made = all.map((kind) => {
      const informer = new SharedInformer({ source: store.source(kind), name: kind.kind, clock });
      return { kind, informer };
    });
    const collector = newGarbageCollector({
      store,
      clock,
      kinds: made.map(({ kind, informer }) => collected(kind, informer)),
    });
    for (const { informer } of made) informer.start();
    await collector.start();
    end = async () => {
      await collector.stop(0);
      await Promise.all(made.map(({ informer }) => informer.close()));
      await store.close();
    };
  });
  afterEach(() => end());
  const left = async (kind: typeof lamps) => (await store.list(kind)).items.map((o) => o.name);

  it('deletes what its owner leaves behind, down the chain, in every namespace', async () => {
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

  it('keeps what still has one owner, and what belongs to kinds it does not know', async () => {
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

  it('never collects a cluster-scoped object for a namespaced owner: nothing says where that is', async () => {
    const lamp = await store.create(lamps, inDefault('lamp'));
    const ownerReferences = [ownerReference(lamps, lamp)];
    await store.create(houses, { name: 'odd', metadata: { ownerReferences } });
    await settle();
    await store.delete(lamps, lamp);
    await settle();
    expect((await store.list(houses)).items.map((o) => o.name)).to.deep.equal(['odd']);
  });

  it('an owner of the same name but another uid is not the owner', async () => {
    const a = await store.create(lamps, inDefault('a'));
    await store.deleteByName(lamps, inDefault('a'));
    await store.create(lamps, inDefault('a'));
    const ownerReferences = [ownerReference(lamps, a)];
    await store.create(bulbs, { ...inDefault('orphan'), metadata: { ownerReferences } });
    await settle();
    expect(await left(bulbs)).to.deep.equal([]);
  });
});

describe('event recorder', () => {
  it('folds what says the same, keeps a pace per reason, and tells what it dropped', async () => {
    const clock = new FakeClock();
    const metrics = new RecordingMetrics();
    await using store = await openStore({ engine: new MemoryEngine(), clock });
    const object = await store.create(lamps, inDefault('lamp'));
    const recorder = new EventRecorder({ store, source: 'test', clock, metrics, burst: 3 });
    const about = { kind: 'Lamp', object };
    for (let n = 0; n < 10; n += 1) recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    recorder.record(about, 'Normal', 'Lit', 'it is lit');
    await recorder.flush();
    const listed = async () => (await store.list(events)).items;
    const summary = (await listed()).map((e) => [e.reason, e.count, e.dropped ?? 0]).sort();
    expect(summary).to.deep.equal([
      ['Flickers', 3, 0],
      ['Lit', 1, 0],
    ]);
    expect(metrics.value('events_dropped_total', { source: 'test', reason: 'Flickers' })).to.equal(
      7,
    );
    await clock.advance(300_000);
    recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    await recorder.flush();
    const flickers = (await listed()).find((e) => e.reason === 'Flickers');
    expect([flickers?.count, flickers?.dropped]).to.deep.equal([4, 7]);
    expect(flickers?.regarding).to.include({ kind: 'Lamp', name: 'lamp' });
    await clock.advance(3_500_000);
    expect((await listed()).map((e) => e.reason)).to.deep.equal(['Flickers']);
    await clock.advance(200_000);
    expect(await listed()).to.deep.equal([]);
  });
});
