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
        { resources: ['lamps'], verbs: ['get', 'list'], namespaces: ['dev'] },
        { resources: ['rooms'], verbs: ['get'], namespaces: ['dev'] },
      ],
    });
    const authorizer = new Authorizer(store);
    const can = (verb: string, resource: string, namespace?: string) =>
      authorizer.can(identity(['dev', 'missing']), { verb, resource, namespace });
    expect(await can('get', 'lamps', 'dev')).to.equal(true);
    expect(await can('get', 'lamps', 'prod')).to.equal(false);
    expect(await can('delete', 'lamps', 'dev')).to.equal(false);
    expect(await can('list', 'lamps', '*')).to.equal(false);
    // A cluster-scoped kind needs a rule for all namespaces.
    expect(await can('get', 'rooms')).to.equal(false);
    await store.close();
  });
});
