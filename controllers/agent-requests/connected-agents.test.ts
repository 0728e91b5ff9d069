import { expect } from 'chai';
import { type EmbeddedStore, openStore, type StatusError } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { CallContext } from 'kedge/server';
import { eventually, FakeClock, MemoryEngine } from 'kedge/testing';
import { nodes } from '../node/kind.js';
import { ConnectedAgents, type NodeRequest } from './connected-agents.js';
import { agentVerbs } from './verbs.js';

describe('the requests to agents of other nodes', () => {
  let store: EmbeddedStore;
  let clock: FakeClock;
  let agents: ConnectedAgents;
  let ended: AbortController;
  const never = new AbortController().signal;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    clock = new FakeClock();
    agents = new ConnectedAgents({ store, clock });
    ended = new AbortController();
    for (const name of ['far', 'other']) {
      await store.create(nodes, { name });
      await store.updateStatus(nodes, { name }, { status: 'Ready', agentId: `agent-${name}` });
    }
  });
  afterEach(async () => {
    ended.abort();
    await store.close();
  });

  /** Connects an agent; its ids are added to the list. */
  async function connect(node: string, agentId = `agent-${node}`): Promise<string[]> {
    const ids: string[] = [];
    const announced = agents.connect(node, agentId, ended.signal)[Symbol.asyncIterator]();
    expect((await announced.next()).value).to.deep.equal({ id: '' });
    void (async () => {
      for (;;) {
        const next = await announced.next().catch(() => ({ done: true }) as const);
        if (next.done === true) return;
        ids.push(`${String(next.value.id)}${next.value.ended === true ? ' ended' : ''}`);
      }
    })();
    return ids;
  }
  const request = (node: string, type: NodeRequest['type'] = 'exec'): NodeRequest => ({
    ...{ node, type, opening: { exec: {} }, what: 'it', remedy: 'do it there' },
    signal: new AbortController().signal,
  });
  const errorOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );
  /** A stream of answers that ends with the test. */
  async function* answers(...given: readonly JsonObject[]): AsyncIterable<JsonObject> {
    yield* given;
    await new Promise<void>((resolve) =>
      ended.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
  }

  it('are answered by the agent of their node, which receives the input one message at a time', async () => {
    const ids = await connect('far');
    const opening = agents.open(request('far'));
    await eventually('the id', () => ids.length === 1);
    const input = agents
      .answer('far', ids[0] ?? '', answers({ begun: true }), ended.signal)
      [Symbol.asyncIterator]();
    expect((await input.next()).value).to.deep.equal({ exec: {} });
    const call = await opening;
    expect((await call.answers()[Symbol.asyncIterator]().next()).value).to.deep.equal({
      begun: true,
    });
    let taken = false;
    void call.send({ data: 'YQ==' }).then(() => (taken = true));
    expect((await input.next()).value).to.deep.equal({ data: 'YQ==' });
    expect(taken, 'before the stream asks for more').to.equal(false);
    const further = input.next();
    await eventually('the message to be taken', () => taken);
    call.close();
    expect((await further).done).to.equal(true);
  });

  it('are NotFound for another node, and can be answered only once', async () => {
    const ids = await connect('far');
    await connect('other');
    const opening = agents.open(request('far'));
    await eventually('the id', () => ids.length === 1);
    const answer = (node: string) =>
      agents
        .answer(node, ids[0] ?? '', answers(), ended.signal)
        [Symbol.asyncIterator]()
        .next();
    expect(await errorOf(answer('other'))).to.include({ code: 'NotFound' });
    await answer('far');
    expect(await errorOf(answer('far'))).to.include({ code: 'NotFound' });
    (await opening).close();
  });

  it('are sent only to the process that registered the node', async () => {
    expect(await errorOf(connect('far', 'agent-other'))).to.include({ reason: 'OtherAgent' });
    await connect('far');
    await store.updateStatus(nodes, { name: 'far' }, { agentId: 'agent-next', status: 'NotReady' });
    expect(await errorOf(agents.open(request('far')))).to.include({ reason: 'AgentNotConnected' });
    await connect('far', 'agent-next');
    void agents.open(request('far')).then((call) => call.close());
  });

  it('wait for the agent of a Ready node, and fail with the remedy', async () => {
    const late = agents.open(request('far'));
    const failing = errorOf(late);
    await eventually('the deadline', () => clock.pending > 0);
    await clock.advance(10_000);
    const error = await failing;
    expect(error).to.include({ reason: 'AgentNotConnected' });
    expect(String(error)).to.contain('or on node far, do it there');
    const opening = agents.open(request('far'));
    await eventually('the wait', () => clock.pending > 0);
    const ids = await connect('far');
    await eventually('the id', () => ids.length === 1);
    // A connected agent that does not answer.
    const silent = errorOf(opening);
    await clock.advance(10_000);
    const answer = await silent;
    expect(answer).to.include({ reason: 'AgentSilent' });
    expect(String(answer)).to.contain('did not answer within 10 s, although it is connected');
  });

  it('are announced again to an agent that connects again, until it answers', async () => {
    const before = await connect('far');
    const opening = agents.open(request('far'));
    await eventually('the id', () => before.length === 1);
    const ids = await connect('far');
    await eventually('the id again', () => ids.length === 1);
    expect(ids).to.deep.equal(before);
    const input = agents.answer('far', ids[0] ?? '', answers(), ended.signal);
    await input[Symbol.asyncIterator]().next();
    await opening;
    const later = await connect('far');
    (await opening).close();
    await eventually('the end', () => later.length === 1);
    expect(later, 'ended, and not announced').to.deep.equal([`${ids[0]} ended`]);
  });

  it('are dropped if their caller leaves before the agent reads their announcement', async () => {
    const announced = agents.connect('far', 'agent-far', ended.signal)[Symbol.asyncIterator]();
    await announced.next();
    for (let count = 0; count < 1_000; count += 1) {
      const left = new AbortController();
      const opening = agents.open({ ...request('far'), signal: left.signal });
      left.abort();
      await opening;
    }
    const last = agents.open(request('far'));
    await eventually('the wait', () => clock.pending > 0);
    const { id } = (await announced.next()).value as JsonObject;
    const input = agents.answer('far', String(id), answers(), ended.signal);
    expect((await input[Symbol.asyncIterator]().next()).value).to.deep.equal({ exec: {} });
    (await last).close();
  });

  it('resolve the input that was being sent when the agent disconnects', async () => {
    const ids = await connect('far');
    const opening = agents.open(request('far'));
    await eventually('the id', () => ids.length === 1);
    const input = agents
      .answer('far', ids[0] ?? '', answers(), ended.signal)
      [Symbol.asyncIterator]();
    await input.next();
    const sent = (await opening).send({ data: 'YQ==' });
    await input.next();
    await input.return?.();
    await sent;
  });

  it('fail with a bounded reason', async () => {
    const ids = await connect('far');
    const opening = agents.open(request('far'));
    await eventually('the id', () => ids.length === 1);
    const failure = { code: 'Internal', reason: 'R'.repeat(1_000_000), message: '' };
    const input = agents.answer('far', ids[0] ?? '', answers({ failure }), ended.signal);
    await input[Symbol.asyncIterator]().next();
    const call = await opening;
    const error = (await errorOf(call.answers()[Symbol.asyncIterator]().next())) as StatusError;
    expect(error.reason).to.equal('R'.repeat(100));
    call.close();
  });

  it('are bounded for each node and type', async () => {
    const ids = await connect('far');
    const openings = Array.from({ length: 16 }, () => agents.open(request('far', 'image')));
    await eventually('the ids', () => ids.length === 16);
    expect(await errorOf(agents.open(request('far', 'image')))).to.include({ reason: 'AgentBusy' });
    void agents.open(request('far', 'log')).then((call) => call.close());
    await eventually('a log beside them', () => ids.length === 17);
    for (const opening of openings) opening.catch(() => undefined);
  });

  it('can be answered only by the service account of their node', async () => {
    const methods = agentVerbs(agents);
    const identities = [{ node: 'other' }, { node: '' }, {}];
    for (const { handler } of methods)
      for (const identity of identities) {
        const context = { identity: { subject: 'x', ...identity }, signal: never };
        const given = { node: String(identity.node ?? '') === '' ? '' : 'far' };
        if (handler.type === 'unary') throw new Error('both are streams');
        const answered = handler.call(context as unknown as CallContext, given, answers());
        const next = answered[Symbol.asyncIterator]().next();
        expect(await errorOf(next)).to.include({ code: 'PermissionDenied' });
      }
  });
});
