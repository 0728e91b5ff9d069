import { expect } from 'chai';
import {
  findCondition,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  StatusError,
  type StoreHealth,
} from 'kedge';
import { FakeClock } from 'kedge/testing';
import { nodes } from './kind.js';
import { defaultPolicy } from '../policy/policy.js';
import { type OvertakenStore, overtakenStore } from '../testing/overtaken-store.js';
import { nodeController } from './controller.js';

describe('a node that is Ready and sends no heartbeats', () => {
  let clock: FakeClock;
  let store: ObjectStore;
  let raced: OvertakenStore;
  let manager: Manager;
  let health: StoreHealth;

  const withHealth = (of: ObjectStore): ObjectStore =>
    new Proxy(of, {
      get: (target, property) => {
        if (property === 'health') return () => health;
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });

  beforeEach(async () => {
    clock = new FakeClock();
    health = { state: 'serving' };
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random: seededRandom(1) });
    raced = overtakenStore(store);
    manager.addController(
      nodeController({ store: withHealth(raced.store), manager, clock, policy: defaultPolicy }),
    );
    await manager.start();
  });
  afterEach(async () => {
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  it('is NotReady after a while, also if it never sent one', async () => {
    await store.create(nodes, { name: 'n' });
    await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' });
    await clock.advance(defaultPolicy.nodeSilentMs + 1_000);
    const node = await store.get(nodes, { name: 'n' });
    expect(node?.status).to.equal('NotReady');
    expect(findCondition(node?.conditions, 'Ready')?.message).to.match(
      /^has sent no heartbeat since it became Ready; /,
    );
  });

  for (const state of ['full', 'poisoned'] as const)
    it(`has the full time again after the store was ${state}, which refuses heartbeats too`, async () => {
      await store.create(nodes, { name: 'n' });
      await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' });
      const error = new StatusError({
        code: 'ResourceExhausted',
        reason: 'DiskFull',
        message: state,
      });
      health = { state, error };
      await clock.advance(3 * defaultPolicy.nodeSilentMs);
      health = { state: 'serving' };
      const { heartbeatMs, nodeSilentMs } = defaultPolicy;
      await clock.advance(nodeSilentMs - heartbeatMs - 1_000);
      expect((await store.get(nodes, { name: 'n' }))?.status).to.equal('Ready');
      await clock.advance(heartbeatMs + 2_000);
      expect((await store.get(nodes, { name: 'n' }))?.status).to.equal('NotReady');
    });

  it('has the full time again if it was recreated', async () => {
    await store.create(nodes, { name: 'n' });
    await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' });
    await clock.advance(defaultPolicy.nodeSilentMs - 1_000);
    const remade = () =>
      store.transact([
        { op: 'deleteByName', kind: nodes, key: { name: 'n' } },
        { op: 'create', kind: nodes, object: { name: 'n' } },
        { op: 'updateStatus', kind: nodes, key: { name: 'n' }, status: { status: 'Ready' } },
      ]);
    await remade();
    await clock.advance(2_000);
    expect((await store.get(nodes, { name: 'n' }))?.status).to.equal('Ready');
  });

  it('is unchanged if it was recreated since it was read', async () => {
    await store.create(nodes, { name: 'n' });
    await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' });
    raced.overtake(
      ({ op }) => op === 'updateStatus',
      async () => {
        await store.deleteByName(nodes, { name: 'n' });
        await store.create(nodes, { name: 'n' });
        await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' });
      },
    );
    await clock.advance(defaultPolicy.nodeSilentMs + 1_000);
    expect((await store.get(nodes, { name: 'n' }))?.status).to.equal('Ready');
  });
});
