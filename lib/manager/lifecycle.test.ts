import { expect } from 'chai';
import { hasCode, type Runnable, seededRandom, StatusError } from '../base/index.js';
import { done, newController } from '../controller/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { Manager, type ManagerOptions } from './index.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

const never = <T>(): Promise<T> => new Promise(() => undefined);
const boom = (): never => {
  throw new Error('boom');
};

describe('the life cycle of a manager', () => {
  let store: ObjectStore;
  let clock: FakeClock;
  let log: string[];
  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    log = [];
  });
  afterEach(() => store.close());

  const managerOf = (options: Partial<ManagerOptions> = {}): Manager =>
    new Manager({ store, clock, random: seededRandom(1), ...options });
  const runnable = (name: string, overrides: Partial<Runnable> = {}): Runnable => ({
    name,
    start: async () => void log.push(`+${name}`),
    stop: async () => void log.push(`-${name}`),
    ...overrides,
  });
  const controller = (name: string, seen: string[] = []) =>
    newController({ name, clock, reconcile: async ({ key }) => (seen.push(key.name), done()) });
  const reasonOf = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'resolved',
      (error: unknown) => (error instanceof StatusError ? error.reason : String(error)),
    );
  const messageOf = (promise: Promise<unknown>): Promise<string> =>
    promise.then(() => 'resolved', String);
  /** Whether a promise has settled after this time. */
  const settledAfter = async (promise: Promise<unknown>, ms: number): Promise<boolean> => {
    let settled = false;
    const note = (): void => void (settled = true);
    promise.then(note, note);
    await clock.advance(ms);
    return settled;
  };
  const checkOf = (manager: Manager, name: string) =>
    manager.health().find((part) => part.name === name)!;

  describe('start', () => {
    it('called twice starts once, and both calls settle alike', async () => {
      const seen: string[] = [];
      const manager = managerOf();
      manager.addController(controller('lamp', seen).for(manager.informer(lamps)));
      manager.addRunnable(runnable('a'));
      await Promise.all([manager.start(), manager.start()]);
      await manager.start();
      await store.create(lamps, { name: 'one' });
      await settle();
      expect([log, seen]).to.deep.equal([['+a'], ['one']]);
      await manager.stop(0);
    });

    it('after a stop is refused at once, as is adding parts', async () => {
      const manager = managerOf();
      manager.informer(lamps);
      await manager.stop(0);
      expect(await reasonOf(manager.start())).to.equal('ManagerStopped');
      expect(await reasonOf(manager.run())).to.equal('ManagerStopped');
      expect(() => manager.addRunnable(runnable('a'))).to.throw(StatusError, 'runnable a');
      expect(() => manager.addController(controller('x'))).to.throw(StatusError, 'controller x');
      expect(manager.informer(lamps).kind, 'its parts stay readable').to.equal('Lamp');
      expect(checkOf(manager, 'manager')).to.deep.include({ healthy: false, message: 'stopped' });
    });

    it('is ended by a stop: no further part starts, running ones are stopped, and the error names the awaited part', async () => {
      const manager = managerOf();
      let started: () => void = () => undefined;
      const slow = new Promise<void>((resolve) => (started = resolve));
      manager.addRunnable(runnable('a'));
      manager.addRunnable(runnable('slow', { start: () => slow }));
      manager.addRunnable(runnable('later'));
      const starting = messageOf(manager.start());
      await settle();
      expect(checkOf(manager, 'manager')).to.deep.equal({
        name: 'manager',
        healthy: false,
        message: 'starting: waits for runnable slow',
      });
      const stopping = manager.stop(1_000);
      await settle();
      started();
      await settle();
      await stopping;
      expect(await starting)
        .to.contain('was stopped during its start')
        .and.contain('slow');
      expect(log).to.deep.equal(['+a', '-slow', '-a']);
    });

    it('that never returns does not block a stop, and its part is stopped if it returns later', async () => {
      const manager = managerOf();
      let started: () => void = () => undefined;
      let signal: AbortSignal | undefined;
      const start = (given: AbortSignal): Promise<void> => {
        signal = given;
        return new Promise((resolve) => (started = resolve));
      };
      manager.addRunnable(runnable('a')).addRunnable(runnable('hung', { start }));
      const starting = reasonOf(manager.start());
      await settle();
      const stopping = manager.stop(1_000);
      expect(signal?.aborted, 'aborted').to.equal(true);
      expect(
        await settledAfter(
          stopping.catch(() => undefined),
          1_000,
        ),
      ).to.equal(true);
      expect(await messageOf(stopping)).to.match(/runnable hung was abandoned: its start took/);
      expect(await starting).to.equal('ManagerStopped');
      expect(log).to.deep.equal(['+a', '-a']);
      started();
      await settle();
      expect(log).to.deep.equal(['+a', '-a', '-hung']);
    });

    it('that rejects or throws stops running parts and is reported', async () => {
      for (const start of [boom, async () => boom()]) {
        log = [];
        const manager = managerOf();
        manager.addRunnable(runnable('a')).addRunnable(runnable('bad', { start }));
        manager.addRunnable(runnable('later'));
        expect(await messageOf(manager.start())).to.contain(
          'runnable bad could not be started: boom',
        );
        expect(log).to.deep.equal(['+a', '-a']);
        expect(checkOf(manager, 'manager').message).to.equal(
          'stopped: runnable bad could not be started: boom',
        );
        expect(checkOf(manager, 'runnable bad').healthy).to.equal(false);
        expect(await reasonOf(manager.start())).to.equal('ManagerStopped');
      }
    });

    it('names the kinds whose caches it waits for, and ends at once when it is stopped', async () => {
      const manager = managerOf();
      store.source = () => ({ list: never, watch: never });
      manager.informer(lamps);
      const starting = reasonOf(manager.start());
      await settle();
      const { message } = checkOf(manager, 'manager');
      expect(message).to.equal('starting: waits for the caches of Lamp');
      await manager.stop(0);
      expect(await starting).to.equal('ManagerStopped');
    });
  });

  describe('a part that is added later', () => {
    it('to a running manager is started at once, with its cache, and stopped with the others', async () => {
      const manager = managerOf();
      manager.addRunnable(runnable('a'));
      await manager.start();
      const seen: string[] = [];
      await store.create(lamps, { name: 'one' });
      manager.addController(controller('late', seen).for(manager.informer(lamps)));
      await settle();
      expect(seen).to.deep.equal(['one']);
      manager.addRunnable(runnable('b'));
      await settle();
      await manager.stop(0);
      expect(log).to.deep.equal(['+a', '+b', '-b', '-a']);
      await store.create(lamps, { name: 'two' });
      await settle();
      expect(seen).to.deep.equal(['one']);
    });

    it('during the start is started with the others', async () => {
      const manager = managerOf();
      const start = async (): Promise<void> => {
        manager.addRunnable(runnable('b'));
        log.push('+a');
      };
      manager.addRunnable(runnable('a', { start }));
      await manager.start();
      expect(log).to.deep.equal(['+a', '+b']);
      await manager.stop(0);
    });

    it('and cannot be started is unhealthy, and does not block other parts', async () => {
      const manager = managerOf();
      await manager.start();
      manager.addRunnable(runnable('hung', { start: never }));
      manager.addRunnable(runnable('bad', { start: boom })).addRunnable(runnable('c'));
      await settle();
      expect(log).to.deep.equal(['+c']);
      const bad = { name: 'runnable bad', healthy: false, message: 'could not be started: boom' };
      expect(checkOf(manager, 'runnable bad')).to.deep.equal(bad);
      expect(checkOf(manager, 'runnable hung').message).to.equal('starting');
      const stopping = messageOf(manager.stop(1_000));
      await clock.advance(1_000);
      expect(await stopping)
        .to.contain('runnable hung was abandoned')
        .and.not.contain('bad');
      expect(log).to.deep.equal(['+c', '-c']);
    });
  });

  describe('stop', () => {
    it('called again waits for the first, regardless of its budget', async () => {
      const manager = managerOf();
      let end: () => void = () => undefined;
      manager.addRunnable(
        runnable('slow', { stop: () => new Promise((resolve) => (end = resolve)) }),
      );
      await manager.start();
      const first = manager.stop(10_000);
      const second = manager.stop(0);
      expect(await settledAfter(second, 5_000)).to.equal(false);
      end();
      await Promise.all([first, second]);
      await manager.stop(0);
    });

    it('abandons hanging parts, names them, stops the others, and keeps its budget', async () => {
      const manager = managerOf();
      const budgets: number[] = [];
      const hang = (budgetMs: number): Promise<void> => {
        budgets.push(budgetMs);
        return never();
      };
      manager.addRunnable(runnable('a'));
      for (const name of ['h1', 'h2', 'h3']) manager.addRunnable(runnable(name, { stop: hang }));
      manager.addRunnable(runnable('z'));
      await manager.start();
      const stopping = manager.stop(1_000);
      const failure = stopping.catch((error: unknown) => error);
      expect(await settledAfter(failure, 999)).to.equal(true);
      expect(hasCode(await failure, 'DeadlineExceeded')).to.equal(true);
      const message = String(await failure);
      for (const name of ['h1', 'h2', 'h3'])
        expect(message).to.contain(`runnable ${name} was abandoned`);
      expect(message).not.to.match(/runnable [az]/);
      expect(log.filter((line) => line.startsWith('-'))).to.deep.equal(['-z', '-a']);
      expect(budgets[0], 'time is reserved for the parts after it').to.equal(800);
      expect(budgets.slice(1)).to.deep.equal([0, 0]);
      expect(clock.pending, 'remaining timers').to.equal(0);
    });

    it('counts a part that throws as failed, and stops the others', async () => {
      const manager = managerOf();
      manager.addRunnable(runnable('a')).addRunnable(runnable('bad', { stop: boom }));
      manager.addRunnable(runnable('z'));
      await manager.start();
      const stopping = manager.stop(1_000);
      expect(await reasonOf(stopping)).to.equal('StopFailed');
      expect(await messageOf(stopping)).to.contain('runnable bad failed to stop: boom');
      expect(log).to.deep.equal(['+a', '+bad', '+z', '-z', '-a']);
    });

    it('abandons a reconcile that ignores its abort, within the budget', async () => {
      const manager = managerOf();
      const deaf = newController({ name: 'deaf', clock, reconcile: never }).for(
        manager.informer(lamps),
      );
      await manager.addController(deaf).start();
      await store.create(lamps, { name: 'one' });
      await settle();
      const stopping = messageOf(manager.stop(2_000));
      expect(await settledAfter(stopping, 2_000)).to.equal(true);
      expect(await stopping).to.contain('controller deaf was abandoned');
    });

    it('refuses an invalid budget', async () => {
      const manager = managerOf();
      for (const budget of [NaN, -1, Infinity])
        expect(await messageOf(manager.stop(budget))).to.contain(`stop budget is ${budget} ms`);
      expect(manager.state).to.equal('new');
    });
  });

  it('run refuses an invalid budget before it starts anything, not at the stop', async () => {
    for (const stopBudgetMs of [NaN, -1, Infinity]) {
      const manager = managerOf().addRunnable(runnable('a'));
      const stop = new AbortController();
      const running = messageOf(manager.run(stop.signal, { stopBudgetMs }));
      await clock.advance(1);
      stop.abort();
      expect(await running).to.contain(`stop budget is ${stopBudgetMs} ms`);
      expect([manager.state, log]).to.deep.equal(['new', []]);
    }
  });

  it('refuses invalid times: a pause of 0 or NaN would compact without a pause', () => {
    for (const name of ['compactionIntervalMs', 'syncTimeoutMs', 'stuckAfterMs'] as const)
      for (const ms of [NaN, 0, -1])
        expect(() => managerOf({ [name]: ms })).to.throw(RangeError, `${name} is ${ms}`);
    for (const ms of [1, Infinity]) managerOf({ compactionIntervalMs: ms });
  });

  it('keeps the process running from its start to its end', async () => {
    const holds = (): boolean => clock.pending > 0;
    const manager = managerOf();
    manager.addRunnable(runnable('a', { stop: never }));
    expect(holds()).to.equal(false);
    await manager.start();
    expect(holds()).to.equal(true);
    const stopping = manager.stop(1_000).catch(() => undefined);
    expect(holds()).to.equal(true);
    await clock.advance(1_000);
    await stopping;
    expect(holds()).to.equal(false);
    const failing = managerOf().addRunnable(runnable('bad', { start: boom }));
    await failing.start().catch(() => undefined);
    expect(holds()).to.equal(false);
  });
});
