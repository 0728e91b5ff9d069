import { expect } from 'chai';
import { MemoryEngine, openStore } from '../../store/index.js';
import { Authorizer, type Identity, policies } from './index.js';

describe('authorizer', () => {
  const identity = (names: readonly string[]): Identity => ({
    subject: 'ann',
    kind: 'user',
    policies: names,
    tokenId: 't',
    expiresAt: undefined,
  });

  it('denies by default; rules allow by resource, verb and namespace', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(policies, {
      name: 'dev',
      rules: [
        { resources: ['volumes'], verbs: ['get', 'list'], namespaces: ['dev'] },
        { resources: ['nodes'], verbs: ['get'], namespaces: ['dev'] },
      ],
    });
    const authorizer = new Authorizer(store);
    const can = (verb: string, resource: string, namespace?: string) =>
      authorizer.can(identity(['dev', 'missing']), { verb, resource, namespace });
    expect(await can('get', 'volumes', 'dev')).to.equal(true);
    expect(await can('get', 'volumes', 'prod')).to.equal(false);
    expect(await can('delete', 'volumes', 'dev')).to.equal(false);
    expect(await can('list', 'volumes', '*')).to.equal(false);
    // A cluster-scoped kind needs a rule for all namespaces.
    expect(await can('get', 'nodes')).to.equal(false);
    await store.close();
  });
});
