import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { ApiClient } from '../../client/index.js';
import { declareKind } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { ApiServer, describeKinds, mount, policies } from '../index.js';

const lamps = declareKind({ kind: 'Lamp', plural: 'lamps', scope: 'Cluster', fields: {} });
const api = describeKinds('house.v1', [mount(lamps)]);

describe('a stream of a caller whom the authenticator of an embedder knows', () => {
  it('ends when the policy that allows it is deleted', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const rules = [{ resources: ['lamps'], verbs: ['watch'], namespaces: ['*'] }];
    await store.create(policies, { name: 'watcher', rules });
    const ann = {
      subject: 'ann',
      kind: 'user',
      policies: ['watcher'],
      tokenId: '',
      expiresAt: undefined,
      node: undefined,
    } as const;
    await using server = new ApiServer({
      store,
      ...api,
      authenticator: {
        authenticate: () => Promise.resolve(ann),
        recheck: (identity) => Promise.resolve(identity),
      },
    });
    const local = { host: '127.0.0.1', port: 0 };
    const { grpc } = await server.listen({ grpc: local, rest: local });
    using client = new ApiClient({ ...api, server: `127.0.0.1:${grpc}`, token: 't' });
    const { signal } = new AbortController();
    const answers = client.stream('LampService.Watch', {}, signal)[Symbol.asyncIterator]();
    await answers.next();

    await store.deleteByName(policies, { name: 'watcher' });
    const error: unknown = await answers.next().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(StatusError).and.include({ code: 'PermissionDenied' });
  });
});
