import { expect } from 'chai';
import { MemoryEngine, openStore, type ObjectStore } from '../../store/index.js';
import { settle } from '../../testing/index.js';
import { rightsChanges, tokens } from './index.js';

describe('changes of rights', () => {
  const stop = new AbortController();
  let store: ObjectStore;
  let told = 0;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    await store.create(tokens, {
      name: 'kept',
      subject: 'ann',
      metadata: { finalizers: ['example.com/keeps'] },
    });
    void (async () => {
      for await (const _ of rightsChanges(store, stop.signal)) told += 1;
    })();
    await settle();
    expect(told, 'once the watch has begun').to.equal(1);
    told = 0;
  });
  afterEach(async () => {
    stop.abort();
    await store.close();
  });

  it('include the revocation of a token, also while a finalizer keeps its object', async () => {
    await store.updateStatus(tokens, { name: 'kept' }, { lastUsedAt: '2026-01-01T00:00:00Z' });
    await settle();
    expect(told).to.equal(0);
    await store.deleteByName(tokens, { name: 'kept' });
    await settle();
    expect((await store.get(tokens, { name: 'kept' }))?.metadata.deletionRequestedAt).to.be.a(
      'string',
    );
    expect(told).to.equal(1);
  });
});
