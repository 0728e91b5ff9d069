import { expect } from 'chai';
import { seededRandom, StatusError } from '../base/index.js';
import { SharedInformer } from '../informer/index.js';
import { type ApiObject, defineKind, ownerReference } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { done, fail, newController, requeueAfter, type Result, retry } from './index.js';

interface Lamp extends ApiObject {
  readonly on?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const bulbs = defineKind<ApiObject>({
  kind: 'Bulb',
  plural: 'bulbs',
  scope: 'Cluster',
  statusFields: [],
});

describe('controller', () => {
  let store: ObjectStore;
  let clock: FakeClock;
  let runs: string[];
  let answer: (key: string) => Result | Promise<Result>;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    clock = new FakeClock();
    runs = [];
    answer = () => done();
  });
  afterEach(() => store.close());

  async function start() {
    const source = (kind: typeof lamps) =>
      new SharedInformer({ source: store.source(kind), name: kind.plural, clock });
    const lampInformer = source(lamps);
    const bulbInformer = source(bulbs);
    const controller = newController({
      name: 'lamp',
      reconcile: async ({ key }) => {
        runs.push(key.name);
        return answer(key.name);
      },
      backoff: { baseMs: 100, maxMs: 1_000, jitter: 0 },
      timeoutMs: 5_000,
      clock,
      random: seededRandom(1),
    })
      .for(lampInformer)
      .owns(bulbInformer, lamps);
    lampInformer.start();
    bulbInformer.start();
    await controller.start();
    await settle();
    return controller;
  }

  it('reconciles the objects that exist at start, and those that change', async () => {
    await store.create(lamps, { name: 'a' });
    const controller = await start();
    expect(runs).to.deep.equal(['a']);
    await store.create(lamps, { name: 'b' });
    await settle();
    expect(runs).to.deep.equal(['a', 'b']);
    await controller.stop();
  });

  it('queues the owner of a changed object', async () => {
    const lamp = await store.create(lamps, { name: 'a' });
    const controller = await start();
    runs = [];
    await store.create(bulbs, {
      name: 'x',
      metadata: { ownerReferences: [ownerReference(lamps, lamp)] },
    });
    await settle();
    expect(runs).to.deep.equal(['a']);
    await controller.stop();
  });

  it('backs off after a throw and after retry, and does not run again after done', async () => {
    const results: (() => Result)[] = [
      () => {
        throw new Error('first');
      },
      () => retry(new Error('second')),
      () => done(),
    ];
    answer = () => (results.shift() ?? done)();
    await store.create(lamps, { name: 'a' });
    const controller = await start();
    expect(runs).to.have.length(1);
    await clock.advance(99);
    expect(runs).to.have.length(1);
    await clock.advance(1);
    expect(runs).to.have.length(2);
    await clock.advance(200);
    expect(runs).to.have.length(3);
    await clock.advance(100_000);
    expect(runs).to.have.length(3);
    expect(controller.stats().errors).to.equal(2);
    await controller.stop();
  });

  it('obeys the delay that an error requests', async () => {
    answer = () =>
      retry(
        new StatusError({
          code: 'ResourceExhausted',
          reason: 'Throttled',
          message: 'slow down',
          retryAfterMs: 30_000,
        }),
      );
    await store.create(lamps, { name: 'a' });
    const controller = await start();
    await clock.advance(29_999);
    expect(runs).to.have.length(1);
    await clock.advance(1);
    expect(runs).to.have.length(2);
    await controller.stop();
  });

  it('does not retry fail until the object changes, and runs requeueAfter once', async () => {
    answer = () => fail('Broken', 'no way');
    const lamp = await store.create(lamps, { name: 'a' });
    const controller = await start();
    await clock.advance(1_000_000);
    expect(runs).to.have.length(1);
    answer = () => (runs.length === 2 ? requeueAfter(500) : done());
    await store.update(lamps, { ...lamp, on: true });
    await settle();
    await clock.advance(10_000);
    expect(runs).to.have.length(3);
    expect(controller.stats().terminalErrors).to.equal(1);
    await controller.stop();
  });

  it('stops in bounded time: aborts running reconciles, and abandons those that ignore it', async () => {
    let aborted = 0;
    const hang = (signal: AbortSignal) =>
      new Promise<Result>(() => signal.addEventListener('abort', () => (aborted += 1)));
    await store.create(lamps, { name: 'a' });
    const informer = new SharedInformer({ source: store.source(lamps), name: 'lamps', clock });
    const controller = newController({
      name: 'hanging',
      reconcile: ({ signal }) => hang(signal),
      clock,
    }).for(informer);
    informer.start();
    await controller.start();
    await settle();
    let stopped = false;
    const stopping = controller.stop(2_000).then(() => (stopped = true));
    await clock.advance(1_999);
    expect([aborted, stopped]).to.deep.equal([0, false]);
    await clock.advance(1);
    expect([aborted, stopped]).to.deep.equal([1, false]);
    await clock.advance(1_000);
    await stopping;
    await informer.close();
  });

  it('never reconciles one key twice concurrently', async () => {
    let active = 0;
    let most = 0;
    answer = async () => {
      active += 1;
      most = Math.max(most, active);
      await settle();
      active -= 1;
      return done();
    };
    let lamp = await store.create(lamps, { name: 'a' });
    const controller = await start();
    for (let n = 0; n < 5; n += 1) lamp = await store.update(lamps, { ...lamp, on: n % 2 === 0 });
    await clock.advance(10);
    await settle();
    expect(most).to.equal(1);
    await controller.stop();
  });

  it('does not wait for the cache of a watch that was removed before the start', async () => {
    const never = new SharedInformer<ApiObject>({
      source: { list: () => new Promise(() => undefined), watch: () => Promise.resolve() },
      name: 'never',
      kind: 'Bulb',
      clock,
      random: seededRandom(1),
    });
    never.start();
    await using controller = newController({ name: 'x', clock, reconcile: async () => done() });
    controller.addWatch(never, () => []).remove();
    await controller.start();
    await never.close();
  });
});
