import { expect } from 'chai';
import {
  MemoryEngine,
  type ObjectStore,
  openStore,
  type Operation,
  silentLogger,
  type StatusError,
} from 'kedge';
import { eventually, FakeClock, settle } from 'kedge/testing';
import { nodes } from './kind.js';
import { defaultPolicy } from '../policy/policy.js';
import { overtakenStore } from '../testing/overtaken-store.js';
import { NodeRegistration } from './registration.js';

const name = 'n1';

describe('two processes that register as the agent of one node', () => {
  let store: Awaited<ReturnType<typeof openStore>>;
  let clock: FakeClock;
  let replaced: StatusError[];
  const ended: NodeRegistration[] = [];
  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    replaced = [];
  });
  afterEach(async () => {
    for (const registration of ended.splice(0)) await registration.stop(1_000);
    await store.close();
  });

  function agent(
    id: string,
    hasEnded: (id: string) => boolean = () => false,
    reach: ObjectStore = store,
  ): NodeRegistration {
    const registration = new NodeRegistration({
      store: reach,
      name,
      labels: {},
      address: `address-of-${id}`,
      version: '1',
      drivers: [],
      runtimes: () => Promise.resolve([]),
      clock,
      logger: silentLogger,
      policy: defaultPolicy,
      life: { id, hasEnded },
      onReplaced: (error) => replaced.push(error),
    });
    ended.push(registration);
    return registration;
  }
  const node = async () => (await store.get(nodes, { name }))!;
  const becomesSilent = () => store.updateStatus(nodes, { name }, { status: 'NotReady' });

  /** Returns a store whose calls are rejected while `isCut` returns true. */
  function cutOff(isCut: () => boolean): ObjectStore {
    return new Proxy(store, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...given: unknown[]) => unknown;
        return (...given: unknown[]) =>
          isCut() ? Promise.reject(new Error('out of reach')) : method(...given);
      },
    });
  }

  /** Starts a registration without waiting. `started` is set once the start has returned. */
  function begun(registration: NodeRegistration): { started: boolean } {
    const state = { started: false };
    void registration.start().then(() => {
      state.started = true;
    });
    return state;
  }

  it('the newer one waits while the older one sends heartbeats, and replaces it once that is silent', async () => {
    let cut = false;
    const reach = cutOff(() => cut);
    await agent('older', undefined, reach).start();
    const newer = begun(agent('newer'));
    await clock.advance(10 * defaultPolicy.heartbeatMs);
    expect(newer.started, 'while the older one sends heartbeats').to.equal(false);
    expect(await node()).to.include({ agentId: 'older', address: 'address-of-older' });

    cut = true;
    await clock.advance(3 * defaultPolicy.heartbeatMs);
    expect(newer.started, 'before the node is NotReady').to.equal(false);
    await becomesSilent();
    await clock.advance(defaultPolicy.heartbeatMs);
    await eventually('the start of the newer one', () => newer.started);
    const taken = { agentId: 'newer', address: 'address-of-newer', status: 'Ready' };
    expect(await node()).to.include(taken);
    expect(replaced).to.deep.equal([]);

    cut = false;
    await clock.advance(2 * defaultPolicy.heartbeatMs);
    expect(replaced.map(({ code, reason }) => [code, reason])).to.deep.equal([
      ['FailedPrecondition', 'AgentReplaced'],
    ]);
    expect(replaced[0]?.message).to.contain('(newer)').and.contain('(older)').and.contain(name);
    await becomesSilent();
    await ended[0]?.stop(1_000);
    expect((await node()).agentId, 'the older one writes no more').to.equal('newer');
    await clock.advance(2 * defaultPolicy.heartbeatMs);
    expect(await node()).to.include(taken);
    expect(replaced).to.have.lengthOf(1);
  });

  it('one of two that observe a silent node at the same moment becomes its agent', async () => {
    await store.create(nodes, { name, address: '10.0.0.9' });
    await store.updateStatus(nodes, { name }, { agentId: 'gone' });
    const raced = overtakenStore(store);
    const second = begun(agent('second', undefined, raced.store));
    raced.overtake(
      ({ op }) => op === 'updateStatus',
      () => agent('first').start(),
    );
    await settle();
    await clock.advance(2 * defaultPolicy.heartbeatMs);
    expect(await node()).to.include({ agentId: 'first', status: 'Ready' });
    expect(second.started).to.equal(false);
    expect(replaced).to.deep.equal([]);
  });

  it('one that is refused has changed nothing, although it found the node without an agent', async () => {
    await store.create(nodes, { name, address: '10.0.0.9' });
    const one = overtakenStore(store);
    const other = overtakenStore(store);
    const isStatusWrite = ({ op }: Operation): boolean => op === 'updateStatus';
    let hasBegun: () => void = () => undefined;
    let hasWon: () => void = () => undefined;
    const begins = new Promise<void>((resolve) => (hasBegun = resolve));
    const won = new Promise<void>((resolve) => (hasWon = resolve));
    other.overtake(isStatusWrite, () => {
      hasBegun();
      return won;
    });
    let loser = { started: false };
    one.overtake(isStatusWrite, () => {
      loser = begun(agent('loser', undefined, other.store));
      return begins;
    });
    await agent('winner', undefined, one.store).start();
    hasWon();
    await settle();
    const held = { agentId: 'winner', address: 'address-of-winner', status: 'Ready' };
    expect(await node()).to.include(held);
    expect(loser.started).to.equal(false);
  });

  it('the newer one waits for one of an earlier release, which writes no id, until that is silent', async () => {
    await store.create(nodes, { name, address: '10.0.0.9' });
    await store.updateStatus(nodes, { name }, { status: 'Ready' });
    const newer = begun(agent('newer'));
    await clock.advance(3 * defaultPolicy.heartbeatMs);
    expect(newer.started, 'while it sends heartbeats').to.equal(false);
    expect((await node()).address).to.equal('10.0.0.9');
    await becomesSilent();
    await clock.advance(defaultPolicy.heartbeatMs);
    await eventually('the start of the newer one', () => newer.started);
    expect(await node()).to.include({ agentId: 'newer', address: 'address-of-newer' });
  });

  it('the process that holds the store does not wait for others, also of an earlier release', async () => {
    await store.create(nodes, { name });
    await store.updateStatus(nodes, { name }, { status: 'Ready' });
    await agent('newer', () => true).start();
    expect(await node()).to.include({ agentId: 'newer', status: 'Ready' });
  });

  it('one that knows that the older one has ended waits for nothing', async () => {
    await agent('older').start();
    await agent('newer', (id) => id === 'older').start();
    expect(await node()).to.include({ agentId: 'newer', status: 'Ready' });
  });

  it('one that waits is ended by the signal, and has written nothing', async () => {
    await agent('older').start();
    const ending = new AbortController();
    const waiting = agent('newer');
    const start = waiting.start(ending.signal);
    await settle();
    ending.abort();
    await start;
    await waiting.stop(1_000);
    expect(await node()).to.include({ agentId: 'older', status: 'Ready' });
  });

  it('of two whose node is created again, the one that registers last is replaced', async () => {
    let cut = false;
    const reach = cutOff(() => cut);
    await agent('first', undefined, reach).start();
    cut = true;
    await store.deleteByName(nodes, { name });
    await agent('second').start();
    cut = false;
    await clock.advance(2 * defaultPolicy.heartbeatMs);
    expect(await node()).to.include({ agentId: 'second', status: 'Ready' });
    expect(replaced).to.have.lengthOf(1);
  });
});
