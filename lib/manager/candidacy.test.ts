import { expect } from 'chai';
import { type Runnable, seededRandom, StatusError } from '../base/index.js';
import { leases } from '../election/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { type UnreliableStore, unreliableStore } from '../testing/unreliable-store.js';
import { Manager, type ManagerOptions } from './index.js';

const never = <T>(): Promise<T> => new Promise(() => undefined);
const boom = (): never => {
  throw new Error('boom');
};
const reasonOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error instanceof StatusError ? error.reason : String(error)),
  );
const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => 'resolved', String);

describe('the life cycle of a manager with an election', () => {
  let store: ObjectStore;
  let clock: FakeClock;
  let log: string[];
  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    log = [];
  });
  afterEach(() => store.close());
  let handle: UnreliableStore;
  const managerOf = (options: Partial<ManagerOptions>): Manager =>
    new Manager({ store, clock, random: seededRandom(1), ...options });
  const runnable = (name: string, overrides: Partial<Runnable> = {}): Runnable => ({
    name,
    start: async () => void log.push(`+${name}`),
    stop: async () => void log.push(`-${name}`),
    ...overrides,
  });
  const checkOf = (manager: Manager, name: string) =>
    manager.health().find((part) => part.name === name)!;
  const member = (identity: string, onLost?: () => void): Manager => {
    handle = unreliableStore(store);
    return managerOf({
      store: handle.store,
      leaderElection: { name: 'jobs', identity, ...(onLost ? { onLost } : {}) },
    });
  };
  const election = (manager: Manager) => checkOf(manager, 'election jobs');
  const steal = async (): Promise<void> => {
    const [held] = (await store.list(leases)).items;
    await store.update(leases, { ...held!, holderIdentity: 'thief', leaseTransitions: 9 });
  };

  it('a leader whose lease writes hang steps down in time and calls onLost; health never reports it as a standby', async () => {
    let lost = 0;
    const manager = member('one', () => (lost += 1)).addRunnable(runnable('work'));
    await manager.start();
    await manager.elected();
    handle.mode = 'hang';
    const seen = new Set<string>();
    for (let passed = 0; passed < 20_000 && lost === 0; passed += 100) {
      seen.add(election(manager).message);
      await clock.advance(100);
    }
    expect(lost, 'called in time').to.equal(1);
    expect(clock.now() - Date.UTC(2026, 0, 1)).to.be.at.most(15_000);
    expect(log).to.deep.equal(['+work', '-work']);
    expect([...seen].filter((message) => message.startsWith('standby'))).to.deep.equal([]);
    const message = 'leadership was lost; the manager is being stopped';
    expect(election(manager)).to.deep.include({ healthy: false, message });
    expect(checkOf(manager, 'manager').message).to.match(/^stopped: .*lost the leadership/);
    await clock.advance(5_000);
    expect(await reasonOf(manager.stop(0))).to.equal('resolved');
  });

  it('a stop while lease writes hang returns within its budget', async () => {
    const manager = member('one').addRunnable(runnable('work'));
    await manager.start();
    await manager.elected();
    handle.mode = 'hang';
    const stopping = messageOf(manager.stop(1_000));
    await clock.advance(1_000);
    expect(await Promise.race([stopping, settle()])).to.be.a('string');
    expect(await stopping).to.contain('election jobs was abandoned: releasing the lease');
    expect(log).to.deep.equal(['+work', '-work']);
    await clock.advance(5_000);
    expect(clock.pending, 'remaining timers').to.equal(0);
  });

  it('a loss calls onLost once although the work hangs, and run rejects with LeadershipLost', async () => {
    let lost = 0;
    const manager = member('one', () => (lost += 1));
    manager.addRunnable(runnable('hung', { stop: never }));
    const running = reasonOf(manager.run());
    await clock.advance(100);
    expect(manager.elector?.isLeader).to.equal(true);
    await steal();
    await clock.advance(2_500);
    expect(election(manager).healthy).to.equal(false);
    await clock.advance(5_000);
    expect(lost).to.equal(1);
    expect(await running).to.equal('LeadershipLost');
  });

  it('a leader whose work cannot be started releases the lease, and its manager stops', async () => {
    let lost = 0;
    const manager = member('one', () => (lost += 1)).addRunnable(runnable('bad', { start: boom }));
    manager.addRunnable(runnable('all', { needsLeaderElection: false }));
    const running = messageOf(manager.run());
    await clock.advance(3_000);
    expect(lost).to.equal(1);
    expect(await running).to.contain(
      'could not start its work (runnable bad could not be started: boom)',
    );
    expect((await store.get(leases, { name: 'jobs' }))?.holderIdentity).to.equal('');
    expect(log).to.deep.equal(['+all', '-all']);
  });

  it('a part that is added to a standby waits for the election; added to a leader it starts at once', async () => {
    const leader = member('one');
    const standby = member('two');
    await leader.start();
    await leader.elected();
    await standby.start();
    leader.addRunnable(runnable('leader'));
    standby.addRunnable(runnable('standby'));
    standby.addRunnable(runnable('everywhere', { needsLeaderElection: false }));
    await clock.advance(3_000);
    expect(log).to.deep.equal(['+leader', '+everywhere']);
    await Promise.all([leader.stop(0), clock.advance(3_000)]);
    expect(log.at(-1)).to.equal('+standby');
    await Promise.all([standby.stop(0), clock.advance(100)]);
  });

  it('refuses two candidates of one identity over one store', async () => {
    const options = { leaderElection: { name: 'jobs', identity: 'same' } };
    const first = managerOf(options);
    await first.start();
    await first.elected();
    const second = managerOf(options);
    expect(await reasonOf(second.start())).to.equal('IdentityInUse');
    expect(first.elector?.isLeader).to.equal(true);
    await Promise.all([first.stop(0), clock.advance(100)]);
    expect(() => managerOf({ leaderElection: { name: 'jobs', identity: ' ' } })).to.throw(
      StatusError,
      'identity: ',
    );
  });

  it('a wait for the election rejects if the manager stops before', async () => {
    const leader = member('one');
    await leader.start();
    await leader.elected();
    const standby = member('two');
    await standby.start();
    const elected = reasonOf(standby.elected());
    await Promise.all([standby.stop(0), clock.advance(100)]);
    expect(await elected).to.equal('ManagerStopped');
    await Promise.all([leader.stop(0), clock.advance(100)]);
  });
});
