import { expect } from 'chai';
import { seededRandom } from '../../base/index.js';
import { Manager } from '../../manager/index.js';
import { type ApiObject, type Condition, defineKind, findCondition } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import {
  type Author,
  type Cause,
  CauseRegistry,
  describeCauses,
  done,
  fail,
  newController,
  type ReconcileContext,
  requeueAfter,
  type Result,
  retry,
} from '../index.js';

interface Lamp extends ApiObject {
  readonly on?: boolean;
  readonly lit?: number;
  readonly conditions?: readonly Condition[];
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['lit', 'conditions'],
});

describe('authors of changes', () => {
  let store: ObjectStore;
  let manager: Manager;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
  });
  afterEach(async () => {
    await manager.stop(0);
    await store.close();
  });

  const controllerOf = (
    name: string,
    reconcile: (context: ReconcileContext) => Promise<Result>,
  ): void => {
    manager.addController(
      newController({
        name,
        store: manager.store,
        clock,
        causes: manager.causes,
        reconcile,
      }).for(manager.informer(lamps)),
    );
  };
  const lightUp = (context: ReconcileContext): Promise<Result> =>
    context.txn(async (txn) => {
      const lamp = await txn.get(lamps, context.key);
      if (lamp && lamp.lit === undefined) txn.updateStatus(lamps, context.key, { lit: 1 });
      return done();
    });
  const updates = (causes: readonly Cause[]): readonly (Author | undefined)[] =>
    causes.flatMap((cause) => (cause.type === 'updated' ? [cause.by] : []));

  it('the run that wrote a change is known at the start of the run that the change triggers', async () => {
    manager = new Manager({ store, clock, random: seededRandom(1) });
    const authors = new Map<string, Author | undefined>();
    const runs = new Map<string, number>();
    controllerOf('light', (context) => {
      runs.set(context.key.name, context.run);
      return lightUp(context);
    });
    controllerOf('audit', async (context) => {
      for (const by of updates(context.causes)) authors.set(context.key.name, by);
      return done();
    });
    await manager.start();
    for (let n = 0; n < 40; n += 1) {
      const { metadata } = await store.create(lamps, { name: `a${n}` });
      await settle();
      expect(authors.get(`a${n}`)).to.deep.equal({
        controller: 'light',
        key: `a${n}`,
        run: runs.get(`a${n}`),
        causes: [
          {
            type: 'added',
            kind: 'Lamp',
            object: `a${n}`,
            resourceVersion: metadata.resourceVersion,
          },
        ],
      });
    }
    expect(authors.size).to.equal(40);
  });

  it('the run of a leader, whose writes are fenced, is known as soon as a triggered run has awaited something', async () => {
    manager = new Manager({
      store,
      clock,
      random: seededRandom(1),
      leaderElection: { name: 'lamps', identity: 'a' },
    });
    const authors: string[] = [];
    controllerOf('light', lightUp);
    controllerOf('audit', async (context) => {
      await settle();
      for (const by of updates(context.causes)) authors.push(by?.controller ?? 'unknown');
      return done();
    });
    await manager.start();
    await clock.advance(100);
    for (let n = 0; n < 5; n += 1) {
      await store.create(lamps, { name: `a${n}` });
      await clock.advance(10);
    }
    await clock.advance(100);
    expect(authors).to.deep.equal(Array.from({ length: 5 }, () => 'light'));
  });

  it('a write outside of a reconcile has no author', async () => {
    manager = new Manager({ store, clock, random: seededRandom(1) });
    const authors: unknown[] = [];
    controllerOf('audit', async (context) => {
      authors.push(...updates(context.causes));
      return done();
    });
    await manager.start();
    const lamp = await store.create(lamps, { name: 'a' });
    await settle();
    await store.update(lamps, { ...lamp, on: true });
    await settle();
    expect(authors).to.deep.equal([undefined]);
  });

  it('the chain of causes of controllers that trigger each other is truncated', async () => {
    manager = new Manager({ store, clock, random: seededRandom(1) });
    let longest = 0;
    let lines = '';
    const pingPong = (context: ReconcileContext): Promise<Result> => {
      lines = describeCauses(context.causes);
      longest = Math.max(longest, lines.length);
      return context.txn(async (txn) => {
        const lamp = await txn.get(lamps, context.key);
        const lit = lamp?.lit ?? 0;
        if (lamp && lit < 200) txn.updateStatus(lamps, context.key, { lit: lit + 1 });
        return done();
      });
    };
    controllerOf('ping', pingPong);
    controllerOf('pong', pingPong);
    await manager.start();
    await store.create(lamps, { name: 'a' });
    await clock.advance(1_000);
    expect((await store.get(lamps, { name: 'a' }))?.lit).to.equal(200);
    expect(lines).to.match(/by (ping|pong) a#\d+ \(updated Lamp a@\d+ by (ping|pong) a#/);
    expect(lines.split(' by '), 'steps').to.have.length.within(3, 8);
    expect(longest).to.be.lessThan(2_000);
  });

  it('a registry bounds chains in width and depth', () => {
    manager = new Manager({ store, clock });
    const registry = new CauseRegistry();
    const runsOf = (author: Author | undefined): number =>
      author
        ? author.causes.reduce((sum, cause) => sum + ('by' in cause ? runsOf(cause.by) : 0), 1)
        : 0;
    let causes: readonly Cause[] = [];
    for (let n = 0; n < 50; n += 1) {
      const version = { kind: 'Lamp', object: 'a', resourceVersion: String(n) };
      registry.wrote(version, { controller: 'x', key: 'a', run: n, causes });
      causes = registry.resolved(
        Array.from({ length: 8 }, () => ({ type: 'updated' as const, ...version })),
      );
    }
    const last = registry.authorOf({ kind: 'Lamp', object: 'a', resourceVersion: '49' });
    expect(runsOf(last)).to.be.within(7, 24);
  });

  for (const [name, result] of Object.entries({
    done: done(),
    requeueAfter: requeueAfter(5_000),
    retry: retry(new Error('not yet')),
  }))
    it(`a stalled object is no longer stalled after ${name}`, async () => {
      manager = new Manager({ store, clock, random: seededRandom(1) });
      let answer: Result = fail('NoBulb', 'the bulb is missing');
      let runs = 0;
      manager.addController(
        newController({
          name: 'light',
          store,
          clock,
          random: seededRandom(1),
          conditionsOf: lamps,
          backoff: { baseMs: 60_000, maxMs: 60_000, jitter: 0 },
          reconcile: () => {
            runs += 1;
            return Promise.resolve(answer);
          },
        }).for(manager.informer(lamps)),
      );
      await manager.start();
      const stalled = async (): Promise<string | undefined> => {
        const lamp = await store.get(lamps, { name: 'a' });
        return findCondition(lamp?.conditions, 'Stalled')?.status;
      };
      const toggle = async (on: boolean): Promise<void> => {
        const lamp = await store.get(lamps, { name: 'a' });
        await store.update(lamps, { ...lamp!, on });
        await settle();
      };
      await store.create(lamps, { name: 'a' });
      await settle();
      expect(await stalled()).to.equal('True');
      answer = result;
      await toggle(true);
      expect(await stalled()).to.equal('False');
      expect(runs, 'its own condition does not queue it').to.equal(2);
      const { revision } = store;
      answer = fail('NoBulb', 'again');
      await toggle(false);
      expect(await stalled()).to.equal('True');
      expect(store.revision).to.be.greaterThan(revision);
    });
});
