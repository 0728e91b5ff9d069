import { expect } from 'chai';
import { MemoryEngine, openStore } from '../../store/index.js';
import { Authorizer, type Identity, seedPolicies } from './index.js';

describe('built-in policies', () => {
  it('admin allows everything except the values of secrets and the work of an agent', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await seedPolicies(store);
    const authorizer = new Authorizer(store);
    const ann: Identity = {
      subject: 'ann',
      kind: 'user',
      policies: ['admin'],
      tokenId: 't',
      expiresAt: undefined,
    };
    const verbs = [
      ...['get', 'list', 'watch', 'create', 'update', 'delete'],
      ...['scale', 'exec', 'reveal', 'elevate', 'load', 'prune', 'serve'],
    ];
    const denied: string[] = [];
    for (const verb of verbs) {
      const access = { resource: 'lamps', verb, namespace: 'default' };
      if (!(await authorizer.can(ann, access))) denied.push(verb);
    }
    expect(denied).to.deep.equal(['reveal', 'serve']);
    await store.close();
  });
});
