import { expect } from 'chai';
import { seededRandom, StatusError } from '../base/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { type UnreliableStore, unreliableStore } from '../testing/unreliable-store.js';
import { LeaderElector, type LeaderCallbacks, leases } from './index.js';

const marks = defineKind<ApiObject>({
  kind: 'Mark',
  plural: 'marks',
  scope: 'Cluster',
  statusFields: [],
});

/** A candidate with its own handle on the store. */
class Candidate {
  readonly log: string[] = [];
  readonly handle: UnreliableStore;
  readonly elector: LeaderElector;
  readonly stop = new AbortController();
  ended = false;
  running: Promise<void> = Promise.resolve();

  constructor(store: ObjectStore, identity: string, clock: FakeClock) {
    this.handle = unreliableStore(store);
    const random = seededRandom(identity.length);
    const options = { name: 'lead', identity, clock, random };
    this.elector = new LeaderElector({ store: this.handle.store, ...options });
  }

  run(callbacks: Partial<LeaderCallbacks> = {}): this {
    const defaults: LeaderCallbacks = {
      onStartedLeading: (signal) => {
        this.log.push('started');
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
      onStoppedLeading: () => void this.log.push('stopped'),
    };
    const all = { ...defaults, ...callbacks };
    this.running = this.elector.run(all, this.stop.signal).finally(() => (this.ended = true));
    return this;
  }
}

describe('an elector in edge cases', () => {
  let store: ObjectStore;
  let clock: FakeClock;
  let open: Candidate[];
  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    open = [];
  });
  afterEach(async () => {
    for (const { stop, handle } of open) {
      handle.mode = 'pass';
      handle.release();
      stop.abort();
    }
    await clock.advance(20_000);
    await Promise.all(open.map((candidate) => candidate.running));
    await store.close();
    expect(clock.pending, 'remaining timers').to.equal(0);
  });
  const candidate = (identity: string): Candidate => {
    const made = new Candidate(store, identity, clock);
    open.push(made);
    return made;
  };
  const leader = async (identity: string, callbacks?: Partial<LeaderCallbacks>) => {
    const made = candidate(identity).run(callbacks);
    await settle();
    expect(made.elector.isLeader, `${identity} leads`).to.equal(true);
    return made;
  };
  const lease = async () => (await store.get(leases, { name: 'lead' }))!;
  const refusal = (write: () => Promise<unknown>): Promise<string> =>
    write().then(
      () => 'written',
      (error: unknown) => (error instanceof StatusError ? error.reason : String(error)),
    );

  describe('when the store hangs', () => {
    it('a leader steps down in time, reports it, and its health is always correct', async () => {
      const a = await leader('a');
      a.handle.mode = 'hang';
      await clock.advance(9_900);
      expect(a.elector.health()).to.deep.equal({ healthy: true, message: 'leading' });
      expect(a.log).to.deep.equal(['started']);
      await clock.advance(200);
      expect(a.log, 'reported within the renew deadline').to.deep.equal(['started', 'stopped']);
      expect(a.elector.isLeader).to.equal(false);
      await clock.advance(20_000);
      const { healthy, message } = a.elector.health();
      expect(healthy).to.equal(false);
      expect(message).to.match(/^standby, the lease could not be read for \d+ s$/);
    });

    it('a stop ends within the timeout of a release, in the leader and in a standby', async () => {
      const a = await leader('a');
      const b = candidate('b').run();
      await settle();
      for (const { handle, stop } of [a, b]) {
        handle.mode = 'hang';
        stop.abort();
      }
      await clock.advance(2_100);
      expect([a.ended, b.ended]).to.deep.equal([true, true]);
      expect([a.elector.state, b.elector.state]).to.deep.equal(['stopped', 'stopped']);
      expect(a.log).to.deep.equal(['started', 'stopped']);
      expect(b.log, 'it never led').to.deep.equal(['stopped']);
    });

    it('a stop during a hanging renewal ends within two retry periods', async () => {
      const a = await leader('a');
      a.handle.mode = 'hang';
      await clock.advance(2_500);
      expect(a.handle.hanging, 'a renewal hangs').to.equal(1);
      a.stop.abort();
      await clock.advance(4_200);
      expect(a.ended).to.equal(true);
    });

    it('a renewal that succeeds after its timeout does not make it lead, and its lease is released', async () => {
      const a = await leader('a');
      a.handle.methods = new Set(['update']);
      a.handle.mode = 'hang';
      await clock.advance(11_000);
      expect(a.log).to.deep.equal(['started', 'stopped']);
      const { leaseTransitions, metadata } = await lease();
      await clock.advance(2_000);
      expect(a.elector.state, 'its release hung too').to.equal('standby');
      a.handle.mode = 'pass';
      a.handle.release();
      await settle();
      expect((await lease()).metadata.resourceVersion).not.to.equal(metadata.resourceVersion);
      expect((await lease()).holderIdentity, 'released').to.equal('');
      await clock.advance(3_000);
      expect(a.log, 'elected again, and reported').to.deep.equal(['started', 'stopped', 'started']);
      expect((await lease()).leaseTransitions).to.equal(leaseTransitions + 1);
    });

    it('a lease that is acquired too late is released at once, so that another candidate may lead', async () => {
      const a = candidate('a');
      a.handle.methods = new Set(['create']);
      a.handle.mode = 'hang';
      a.run();
      await clock.advance(10_500);
      a.handle.mode = 'fail';
      a.handle.release();
      await settle();
      expect((await lease()).holderIdentity).to.equal('');
      expect(a.log).to.deep.equal([]);
    });
  });

  it('has a correct health in each state', async () => {
    let finish: () => void = () => undefined;
    const work = new Promise<void>((resolve) => (finish = resolve));
    const a = candidate('a');
    expect(a.elector.health()).to.deep.equal({ healthy: true, message: 'has not started' });
    a.run({ onStartedLeading: () => work });
    await settle();
    const b = candidate('b').run();
    await settle();
    expect(b.elector.health()).to.deep.equal({ healthy: true, message: 'standby, "a" leads' });
    await store.update(leases, { ...(await lease()), holderIdentity: 'b', leaseTransitions: 7 });
    await clock.advance(2_500);
    expect([a.elector.state, a.elector.isLeader]).to.deep.equal(['resigning', false]);
    const message = 'no longer leads, its work is being stopped';
    expect(a.elector.health()).to.deep.equal({ healthy: false, message });
    expect(b.elector.health().message).to.equal(
      'standby, waits until an earlier lease of this candidate expires',
    );
    finish();
    await settle();
    expect(a.elector.health()).to.deep.equal({ healthy: true, message: 'standby, "b" leads' });
    a.stop.abort();
    await a.running;
    expect(a.elector.health()).to.deep.equal({ healthy: true, message: 'stopped' });
  });

  describe('names', () => {
    const make = (names: { name?: unknown; identity?: unknown }) => (): unknown =>
      new LeaderElector({ store, clock, name: 'lead', identity: 'a', ...names } as never);

    it('refuses a lease name or an identity that is empty, padded, too long or not a string', () => {
      for (const bad of ['', ' ', '\t\n', ' a', 'a ', 'a\u0000b', 'x'.repeat(254), undefined, 7]) {
        const identity = JSON.stringify(bad);
        expect(make({ identity: bad }), identity).to.throw(StatusError, /^identity: /);
        expect(make({ name: bad }), identity).to.throw(StatusError, /^name: /);
      }
      expect(make({ name: 'a/b' })).to.throw(StatusError, 'name: is "a/b"');
      expect(make({ name: '', identity: '' })).to.throw(StatusError, /name: .*; identity: /);
      expect(make({ name: 'x'.repeat(253), identity: 'host-1 (blue)' })).not.to.throw();
    });

    it('refuses a second candidate of one identity in this process, until the first has ended', async () => {
      const options = { store, clock, name: 'lead', identity: 'twin' };
      const nothing = { onStartedLeading: () => undefined, onStoppedLeading: () => undefined };
      const stop = new AbortController();
      const first = new LeaderElector(options).run(nothing, stop.signal);
      await settle();
      const second = new LeaderElector(options);
      const refused = () => refusal(() => second.run(nothing, stop.signal));
      expect(await refused()).to.equal('IdentityInUse');
      expect(second.state).to.equal('idle');
      stop.abort();
      await first;
      expect(await refused()).to.equal('written');
    });

    it('two processes with one identity never both lead', async () => {
      const a = await leader('same');
      const b = candidate('same').run();
      for (let passed = 0; passed < 60_000; passed += 500) {
        await clock.advance(500);
        const leading = [a, b].filter(({ elector }) => elector.isLeader);
        expect(leading.length, `after ${passed} ms`).to.be.at.most(1);
      }
    });
  });

  it('runs once at a time, and may run again afterwards', async () => {
    const a = await leader('a');
    const again = () =>
      a.elector.run(
        { onStartedLeading: () => undefined, onStoppedLeading: () => undefined },
        a.stop.signal,
      );
    expect(await refusal(again)).to.equal('ElectorRunning');
    expect(a.elector.isLeader, 'the first run continues').to.equal(true);
    a.stop.abort();
    await a.running;
    expect(await refusal(again)).to.equal('written');
  });

  it('releases the lease despite a concurrent write', async () => {
    const a = await leader('a');
    const original = a.handle.store.get.bind(store);
    let reads = 0;
    a.handle.methods = new Set();
    store.get = (async (...args: Parameters<typeof original>) => {
      const found = await original(...args);
      if (a.stop.signal.aborted && (reads += 1) <= 2)
        await store.update(leases, { ...(await lease0()), labels: { n: String(reads) } });
      return found;
    }) as typeof store.get;
    const lease0 = async () => (await store.list(leases)).items[0]!;
    a.stop.abort();
    await a.running;
    store.get = original;
    expect(reads).to.equal(3);
    const { holderIdentity, labels } = await lease();
    expect([holderIdentity, labels]).to.deep.equal(['', { n: '2' }]);
  });

  it('continues after every callback that throws', async () => {
    const boom = (): never => {
      throw new Error('boom');
    };
    const a = await leader('a', { onNewLeader: boom, onStoppedLeading: boom });
    await clock.advance(30_000);
    expect(a.elector.isLeader).to.equal(true);
    a.stop.abort();
    await a.running;
    expect((await lease()).holderIdentity).to.equal('');
    const b = await leader('b', { onStoppedLeading: async () => boom() });
    b.stop.abort();
    await b.running;
  });

  it('steps down when its work fails, so that another candidate leads', async () => {
    let begun = 0;
    const a = await leader('a', {
      onStartedLeading: () => {
        begun += 1;
        return begun > 1
          ? new Promise(() => undefined)
          : new Promise((_, fail) => setImmediate(fail));
      },
    }).catch(() => open[0]!);
    const b = candidate('b').run();
    await clock.advance(3_000);
    expect([a.elector.isLeader, b.elector.isLeader]).to.deep.equal([false, true]);
    expect(a.log, 'onStoppedLeading was called').to.deep.equal(['stopped']);
    expect(begun).to.equal(1);
  });

  describe('when it no longer holds the lease', () => {
    it('a deleted lease ends its leading, and the next epoch is higher than all before', async () => {
      const a = await leader('a');
      const fenced = a.elector.fence();
      const before = await lease();
      await store.deleteByName(leases, { name: 'lead' });
      expect(await refusal(() => fenced.create(marks, { name: 'one' }))).to.equal('LeadershipLost');
      const late = new Candidate(store, 'late', clock);
      open.push(late);
      late.run();
      await settle();
      expect(late.elector.isLeader, 'a deleted lease is free').to.equal(true);
      expect((await lease()).leaseTransitions).to.be.greaterThan(before.leaseTransitions);
      await clock.advance(2_500);
      expect(a.log).to.deep.equal(['started', 'stopped']);
    });

    it('a recreated lease is another lease, even if its content is the same', async () => {
      const a = await leader('a');
      const fenced = a.elector.fence();
      const { metadata: _, ...copy } = await lease();
      await store.deleteByName(leases, { name: 'lead' });
      await store.create(leases, copy);
      expect(await refusal(() => fenced.create(marks, { name: 'one' }))).to.equal('LeadershipLost');
      await clock.advance(2_500);
      expect(a.log).to.deep.equal(['started', 'stopped']);
      await clock.advance(12_000);
      expect(a.elector.isLeader, 'waits like any other').to.equal(false);
      await clock.advance(6_000);
      expect(a.elector.isLeader).to.equal(true);
    });

    it('a restored store ends its leading, and the expiry of its lease starts again', async () => {
      const a = await leader('a');
      const b = candidate('b').run();
      await clock.advance(10_000);
      // Simulates a remote store whose server was restored from a backup: the same objects under another store id.
      for (const { handle } of [a, b])
        Object.defineProperty(handle.store, 'storeId', { value: 'restored', configurable: true });
      const fenced = a.elector.fence();
      expect(await refusal(() => fenced.create(marks, { name: 'one' }))).to.equal('LeadershipLost');
      await clock.advance(2_500);
      expect(a.log).to.deep.equal(['started', 'stopped']);
      expect(b.elector.isLeader).to.equal(false);
      await clock.advance(16_000);
      expect([a, b].filter(({ elector }) => elector.isLeader).length, 'one leads').to.equal(1);
    });

    it('another leader in between ends its leading, although the lease is free again', async () => {
      const a = await leader('a');
      const taken = { ...(await lease()), holderIdentity: 'b', leaseTransitions: 5 };
      const { metadata } = await store.update(leases, taken);
      await store.update(leases, { ...taken, metadata, holderIdentity: '' });
      await clock.advance(2_500);
      expect(a.log.slice(0, 2)).to.deep.equal(['started', 'stopped']);
    });
  });

  it('does not use the wall clock, which may jump', async () => {
    const a = await leader('a');
    const b = candidate('b').run();
    await clock.advance(5_000);
    const now = clock.now.bind(clock);
    for (const jumpMs of [86_400_000, -86_400_000]) {
      clock.now = () => now() + jumpMs;
      await clock.advance(20_000);
      expect([a.elector.isLeader, b.elector.isLeader]).to.deep.equal([true, false]);
    }
  });
});
