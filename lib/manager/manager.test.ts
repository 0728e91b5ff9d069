import { expect } from 'chai';
import { hasCode, seededRandom } from '../base/index.js';
import { done, newController } from '../controller/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { leases } from '../election/index.js';
import { Manager } from './index.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

describe('manager', () => {
  let store: ObjectStore;
  const clock = new FakeClock();
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine(), clock });
  });
  afterEach(() => store.close());

  it('starts runnables in order, stops them in reverse, and refuses two controllers of one name', async () => {
    const log: string[] = [];
    const runnable = (name: string) => ({
      name,
      start: () => Promise.resolve(void log.push(`+${name}`)),
      stop: () => Promise.resolve(void log.push(`-${name}`)),
    });
    const manager = new Manager({ store, clock });
    manager.addRunnable(runnable('a')).addRunnable(runnable('b'));
    const controller = () => newController({ name: 'x', clock, reconcile: async () => done() });
    manager.addController(controller());
    expect(() => manager.addController(controller())).to.throw(TypeError, '"x"');
    await manager.start();
    await manager.stop(1_000);
    expect(log).to.deep.equal(['+a', '+b', '-b', '-a']);
  });

  it('cannot be started if caches do not sync in time, and names them', async () => {
    store.source = () => ({
      list: () => new Promise(() => undefined),
      watch: () => Promise.resolve(),
    });
    const manager = new Manager({ store, clock, syncTimeoutMs: 5_000 });
    manager.informer(lamps);
    const starting = manager.start().catch((error: unknown) => error);
    await settle();
    await clock.advance(5_000);
    const error = await Promise.race([starting, settle()]);
    expect(hasCode(error, 'DeadlineExceeded')).to.equal(true);
    expect(String(error)).to.contain('Lamp');
  });

  it('is unhealthy while a reconcile exceeds its limit', async () => {
    const manager = new Manager({ store, clock, stuckAfterMs: 1_000 });
    let release: () => void = () => undefined;
    const hang = new Promise<void>((resolve) => (release = resolve));
    const reconcile = async () => {
      await hang;
      return done();
    };
    manager.addController(
      newController({ name: 'slow', clock, reconcile }).for(manager.informer(lamps)),
    );
    await manager.start();
    await store.create(lamps, { name: 'a' });
    await settle();
    const healthy = () => manager.health().find((part) => part.name === 'controller slow')?.healthy;
    expect(healthy()).to.equal(true);
    await clock.advance(2_000);
    expect(healthy()).to.equal(false);
    release();
    await settle();
    expect(healthy()).to.equal(true);
    await manager.stop(0);
  });

  describe('with an election', () => {
    const member = (identity: string, random = 1) => {
      const seen: string[] = [];
      let lost = 0;
      const manager = new Manager({
        store,
        clock,
        random: seededRandom(random),
        leaderElection: { name: 'lamps', identity, onLost: () => (lost += 1) },
      });
      const controller = newController({
        name: 'lamp',
        clock,
        reconcile: async ({ key }) => (seen.push(key.name), done()),
      }).for(manager.informer(lamps));
      manager.addController(controller);
      return { manager, controller, seen, lost: () => lost };
    };
    const electionOf = (manager: Manager) =>
      manager.health().find((part) => part.name === 'election lamps')?.message;

    it('runs controllers on the leader only, and queues keys on the standby until it takes over', async () => {
      const first = member('one');
      const second = member('two', 2);
      await first.manager.start();
      await first.manager.elected();
      await second.manager.start();
      await store.create(lamps, { name: 'a' });
      await clock.advance(5_000);
      expect(first.seen).to.deep.equal(['a']);
      expect(second.seen).to.deep.equal([]);
      expect(second.controller.stats().queued, 'queued on the standby').to.equal(1);
      expect(electionOf(first.manager)).to.equal('leading');
      expect(electionOf(second.manager)).to.equal('standby, "one" leads');
      await Promise.all([first.manager.stop(0), clock.advance(3_000)]);
      await settle();
      expect(second.seen).to.deep.equal(['a']);
      expect(first.lost(), 'a stop is not a loss').to.equal(0);
      await second.manager.stop(0);
    });

    it('stops permanently when the lease is lost, reports it, and its store refuses late writes', async () => {
      const { manager, seen, lost } = member('one');
      await manager.start();
      await manager.elected();
      await manager.store.create(lamps, { name: 'while-leading' });
      await settle();
      const [held] = (await store.list(leases)).items;
      await store.update(leases, { ...held!, holderIdentity: 'two', leaseTransitions: 9 });
      const late = await manager.store.create(lamps, { name: 'late' }).catch((e: unknown) => e);
      expect(hasCode(late, 'FailedPrecondition')).to.equal(true);
      await clock.advance(3_000);
      await settle();
      expect(lost()).to.equal(1);
      await store.create(lamps, { name: 'afterwards' });
      await clock.advance(60_000);
      expect(seen).to.deep.equal(['while-leading']);
    });

    it('starts parts that need no leader on every candidate', async () => {
      const leader = member('one');
      const standby = member('two', 2);
      const log: string[] = [];
      for (const { manager } of [leader, standby])
        for (const needsLeaderElection of [true, false])
          manager.addRunnable({
            name: 'part',
            needsLeaderElection,
            start: () => Promise.resolve(void log.push(needsLeaderElection ? 'leader' : 'all')),
            stop: () => Promise.resolve(),
          });
      await leader.manager.start();
      await leader.manager.elected();
      await standby.manager.start();
      await clock.advance(5_000);
      expect(log).to.deep.equal(['all', 'leader', 'all']);
      await Promise.all([leader.manager.stop(0), standby.manager.stop(0), clock.advance(5_000)]);
    });
  });
});
