import { expect } from 'chai';
import { openStore, StatusError } from 'kedge';
import type { ApiParts, CallContext } from 'kedge/server';
import { FakeClock, MemoryEngine } from 'kedge/testing';
import { ConnectedAgents } from '../agent-requests/connected-agents.js';
import { nodes } from '../node/kind.js';
import { imageVerbs } from './verbs.js';

describe('images of a server whose node has no container runtime', () => {
  it('are refused with the remedy, and those of other nodes are not', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(nodes, { name: 'far' });
    const parts = { store, clock: new FakeClock() } as unknown as ApiParts;
    const method = imageVerbs(parts, { agents: new ConnectedAgents(parts) }).find(
      ({ id }) => id === 'ImageService.List',
    );
    const handler = method?.handler;
    if (handler?.type !== 'unary') throw new Error('ImageService.List is unary');
    const context = { signal: new AbortController().signal } as CallContext;
    const refusalOf = async (node: string): Promise<StatusError> => {
      try {
        await handler.call(context, { node });
      } catch (error) {
        return StatusError.from(error);
      }
      throw new Error('the call succeeded');
    };
    const own = await refusalOf('');
    expect(own.reason).to.equal('RuntimeUnavailable');
    expect(own.message).to.contain('--node NODE');
    expect((await refusalOf('absent')).code).to.equal('NotFound');
    expect((await refusalOf('far')).reason).to.equal('AgentNotConnected');
    await store.close();
  });
});
