import { expect } from 'chai';
import {
  type ControllerStats,
  MemoryEngine,
  modify,
  type ObjectStore,
  openStore,
  type Operation,
  seededRandom,
  setCondition,
  silentLogger,
  timestamp,
} from 'kedge';
import { eventually, FakeClock, settle } from 'kedge/testing';
import { nodes } from './kind.js';
import { defaultPolicy } from '../policy/policy.js';
import { overtakenStore } from '../testing/overtaken-store.js';
import { agentOfStore } from './agent-life.js';
import { NodeRegistration, type NodeRegistrationOptions } from './registration.js';

const name = 'n1';

function registration(
  store: ObjectStore,
  clock = new FakeClock(),
  more: Pick<NodeRegistrationOptions, 'callers'> = {},
): NodeRegistration {
  return new NodeRegistration({
    ...more,
    store,
    name,
    labels: { zone: 'a' },
    address: '10.0.0.1',
    version: '1',
    drivers: ['local'],
    runtimes: () => Promise.resolve(['process']),
    clock,
    logger: silentLogger,
    policy: defaultPolicy,
    life: agentOfStore(seededRandom(1)),
    onReplaced: ({ message }) => expect.fail(message),
  });
}

/** Returns a store that runs `race` after the first read, before it returns the read object. */
function withRace(store: ObjectStore, race: () => Promise<unknown>): ObjectStore {
  let raced = false;
  const get: ObjectStore['get'] = async (kind, key) => {
    const found = await store.get(kind, key);
    if (!raced) {
      raced = true;
      await race();
    }
    return found;
  };
  return new Proxy(store, {
    get: (target, property) => {
      if (property === 'get') return get;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('node registration', () => {
  it('keeps a label and a cordon that are written at the same moment', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    await store.create(nodes, { name, address: '10.0.0.9', labels: { rack: '7' } });
    const cordon = () =>
      modify(store, nodes, { name }, (node) => ({
        ...node,
        unschedulable: true,
        labels: { ...node.labels, rack: '8' },
      }));
    const registered = registration(withRace(store, cordon));
    await registered.start();
    await registered.stop(1_000);
    const node = await store.get(nodes, { name });
    expect(node).to.include({ address: '10.0.0.1', unschedulable: true, status: 'NotReady' });
    expect(node?.labels).to.deep.equal({ rack: '8', zone: 'a' });
  });

  it('registers a missing node, also if another client creates it at the same time', async () => {
    for (const race of [false, true]) {
      await using store = await openStore({ engine: new MemoryEngine() });
      const create = () =>
        store.create(nodes, { name, address: '10.0.0.9', labels: { rack: '7' } });
      const registered = registration(race ? withRace(store, create) : store);
      await registered.start();
      await registered.stop(1_000);
      const node = await store.get(nodes, { name });
      expect(node?.address).to.equal('10.0.0.1');
      expect(node?.labels).to.deep.equal({ zone: 'a', ...(race ? { rack: '7' } : {}) });
    }
  });

  it('writes its status to an object that was recreated meanwhile', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const clock = new FakeClock();
    const registered = registration(store, clock);
    await registered.start();
    const { uid } = (await store.get(nodes, { name }))!.metadata;
    await store.deleteByName(nodes, { name });
    await store.create(nodes, { name, labels: { rack: '7' } });
    await clock.advance(defaultPolicy.heartbeatMs);
    const node = await eventually('its return', async () => {
      const found = await store.get(nodes, { name });
      return found?.status === 'Ready' ? found : undefined;
    });
    expect(node.metadata.uid).to.not.equal(uid);
    expect(node).to.include({ address: '10.0.0.1', version: '1' });
    expect(node.labels).to.deep.equal({ rack: '7', zone: 'a' });
    await registered.stop(1_000);
    expect((await store.get(nodes, { name }))?.status).to.equal('NotReady');
  });

  it('starts while the store has no space for it, and registers once there is space', async () => {
    let free = 0;
    const engine = Object.assign(new MemoryEngine(), { freeBytes: () => Promise.resolve(free) });
    const clock = new FakeClock();
    await using store = await openStore({ engine, clock });
    // The store measures its free space after its first write, and later at most once a second.
    await store.create(nodes, { name: 'other' });
    await settle();
    expect(store.health().state).to.equal('full');
    const registered = registration(store, clock);
    await registered.start();
    expect(await store.get(nodes, { name })).to.equal(undefined);
    free = 1024 ** 3;
    await clock.advance(3 * defaultPolicy.heartbeatMs);
    await eventually('its registration', async () =>
      (await store.get(nodes, { name }))?.status === 'Ready' ? true : undefined,
    );
    free = 0;
    await clock.advance(3 * defaultPolicy.heartbeatMs);
    expect(store.health().state).to.equal('full');
    await registered.stop(1_000);
  });

  it('keeps a condition that is written at the moment of a heartbeat', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const clock = new FakeClock();
    const raced = overtakenStore(store);
    const registered = registration(raced.store, clock);
    await registered.start();
    const isBeat = (operation: Operation) => operation.op === 'updateStatus';
    const full = { type: 'DiskPressure', status: 'True', reason: 'Full', message: '' } as const;
    raced.overtake(isBeat, async () => {
      const { conditions } = (await store.get(nodes, { name }))!;
      await store.updateStatus(
        nodes,
        { name },
        { conditions: setCondition(conditions, full, timestamp(clock)) },
      );
    });
    await registered.stop(1_000);
    const { conditions } = (await store.get(nodes, { name }))!;
    expect(conditions?.map(({ type, status }) => [type, status])).to.have.deep.members([
      ['Ready', 'False'],
      ['DiskPressure', 'True'],
    ]);
  });

  it('reports the stop of the node once no driver calls for it are running, and not before', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const status = async () => (await store.get(nodes, { name }))?.status;
    const seen: unknown[] = [];
    let active = 0;
    const caller = {
      stop: async () => void seen.push(await status()),
      stats: () => ({ active }) as ControllerStats,
    };
    const stopped = async (budgetMs: number): Promise<unknown> => {
      const registered = registration(store, new FakeClock(), { callers: [caller] });
      await registered.start();
      await registered.stop(budgetMs);
      return status();
    };
    active = 1;
    expect(await stopped(1_000), 'with a call that ignores its end').to.equal('Ready');
    active = 0;
    expect(await stopped(0), 'with a part that was left behind').to.equal('Ready');
    expect(await stopped(1_000)).to.equal('NotReady');
    expect(seen).to.deep.equal(['Ready', 'Ready', 'Ready']);
  });
});
