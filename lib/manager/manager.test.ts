import { expect } from 'chai';
import { hasCode } from '../base/index.js';
import { done, newController } from '../controller/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
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

  it('names the caches that do not sync in time, and stops what it had started', async () => {
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

  it('is unhealthy while a reconcile runs for too long', async () => {
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
});
