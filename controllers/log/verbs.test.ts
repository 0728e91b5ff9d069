import { expect } from 'chai';
import { type EmbeddedStore, openStore, StatusError } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext } from 'kedge/server';
import { FakeClock, MemoryEngine } from 'kedge/testing';
import type { LogLine } from '../agent/index.js';
import { ConnectedAgents } from '../agent-requests/index.js';
import { instances } from '../instance/kind.js';
import { services } from '../service/kind.js';
import { PlayedRuntime } from '../testing/played-runtime.js';
import { logVerbs } from './verbs.js';

class SpeakingRuntime extends PlayedRuntime {
  override async *readLog(): AsyncGenerator<LogLine> {
    yield await Promise.resolve({ content: 'hello', cursor: [1] });
  }
}

describe('the output of instances on several nodes', () => {
  let store: EmbeddedStore;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    const template = { runtime: 'process' as const, command: ['true'] };
    await store.create(services, { namespace: 'default', name: 'web', scale: 2, ...template });
    for (const [ordinal, node] of ['near', 'far'].entries()) {
      const key = { namespace: 'default', name: `web-${ordinal}` };
      await store.create(instances, { ...key, service: 'web', ordinal, template, node });
    }
  });
  afterEach(() => store.close());

  /** The answers of the server on a node. */
  async function answers(node: string | undefined, request: JsonObject): Promise<JsonObject[]> {
    const runtime = new SpeakingRuntime();
    const parts = { store, clock: new FakeClock() } as unknown as ApiParts;
    const agents = new ConnectedAgents(parts);
    const options = { runtimes: [runtime], agents, ...(node !== undefined && { node }) };
    const [method] = logVerbs(parts, options);
    if (method?.handler.type !== 'stream') throw new Error('LogService.Get is a stream');
    const context = { signal: new AbortController().signal } as CallContext;
    const found: JsonObject[] = [];
    for await (const line of method.handler.call(context, { namespace: 'default', ...request }))
      found.push(line);
    return found;
  }
  const refusalOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('is that of this node, and a line that names the node and the place of the others', async () => {
    const lines = await answers('near', { name: 'web' });
    const [{ metadata } = { metadata: { uid: '' } }] = (await store.list(instances)).items.filter(
      ({ node }) => node === 'far',
    );
    expect(lines.map(({ instance, content }) => [instance, content])).to.deep.equal([
      ['web-0', 'hello'],
      [
        'web-1',
        `[kedge] the output of "default/web-1" can't be reached: the agent of node far is not connected to this server, and the node is not Ready; start the agent, or on node far, read the directory instances/${metadata.uid} below the data directory of its agent`,
      ],
    ]);
  });

  it('is refused with the command to run there if all of it is on another node', async () => {
    const error = await refusalOf(answers('near', { name: 'web-1' }));
    expect(error).to.be.instanceOf(StatusError);
    expect(error).to.include({ code: 'FailedPrecondition', reason: 'AgentNotConnected' });
    const key = { namespace: 'default', name: 'web-1' };
    await store.updateStatus(instances, key, { containerId: 'c1'.repeat(32) });
    expect(String(await refusalOf(answers('near', { name: 'web-1', previous: true })))).to.contain(
      `on node far, type: docker logs ${'c1'.repeat(32)}`,
    );
    expect(await refusalOf(answers('far', { name: 'web-1' }))).to.equal(undefined);
  });

  it('is all here for a server whose runtimes are those of all nodes', async () => {
    const lines = await answers(undefined, { name: 'web' });
    expect(lines.map(({ content }) => content)).to.deep.equal(['hello', 'hello']);
  });
});
