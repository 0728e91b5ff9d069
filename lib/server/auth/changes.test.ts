import { expect } from 'chai';
import { type ApiObject, defineKind } from '../../object/index.js';
import { MemoryEngine, openStore, type ObjectStore } from '../../store/index.js';
import { settle } from '../../testing/index.js';
import { rightsChanges, tokens } from './index.js';

interface Machine extends ApiObject {
  readonly heartbeatAt?: string;
}
const machines = defineKind<Machine>({
  kind: 'Machine',
  plural: 'machines',
  scope: 'Cluster',
  statusFields: ['heartbeatAt'],
});

describe('changes of rights', () => {
  let stop: AbortController;
  let store: ObjectStore;
  let notifications = 0;
  beforeEach(async () => {
    stop = new AbortController();
    notifications = 0;
    store = await openStore({ engine: new MemoryEngine() });
    await store.create(tokens, {
      name: 'kept',
      subject: 'ann',
      metadata: { finalizers: ['example.com/keeps'] },
    });
    void (async () => {
      for await (const _ of rightsChanges(store, stop.signal, machines)) notifications += 1;
    })();
    await settle();
    expect(notifications, 'once the watch has begun').to.equal(1);
    notifications = 0;
  });
  afterEach(async () => {
    stop.abort();
    await store.close();
  });

  it('include the revocation of a token, also while a finalizer keeps its object', async () => {
    await store.updateStatus(tokens, { name: 'kept' }, { lastUsedAt: '2026-01-01T00:00:00Z' });
    await settle();
    expect(notifications).to.equal(0);
    await store.deleteByName(tokens, { name: 'kept' });
    await settle();
    expect((await store.get(tokens, { name: 'kept' }))?.metadata.deletionRequestedAt).to.be.a(
      'string',
    );
    expect(notifications).to.equal(1);
  });

  it('include the removal of a node, and no heartbeat', async () => {
    await store.create(machines, { name: 'node-1' });
    await settle();
    for (let second = 0; second < 3; second += 1) {
      const heartbeatAt = `2026-01-01T00:00:0${second}Z`;
      await store.updateStatus(machines, { name: 'node-1' }, { heartbeatAt });
      await settle();
    }
    expect(notifications).to.equal(0);
    await store.deleteByName(machines, { name: 'node-1' });
    await settle();
    expect(notifications).to.equal(1);
  });
});
