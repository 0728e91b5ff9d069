import { expect } from 'chai';
import { changeEffect, effectRecords } from '../../controller/effects/effect-records.js';
import { runTransaction } from '../../controller/transactions/transaction.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import {
  accessControl,
  ApiServer,
  describeKinds,
  type Identity,
  mount,
} from '../../server/index.js';
import {
  type EmbeddedStore,
  MemoryEngine,
  type ObjectStore,
  openStore,
} from '../../store/index.js';
import { RemoteStore } from './remote-store.js';

interface Lamp extends ApiObject {
  readonly watts?: number;
}
const lamps = kindOf<Lamp>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('house.v1', [mount(lamps, { watts: 'integer' })]);
const root: Identity = {
  ...{ subject: 'root', kind: 'user', policies: [], tokenId: '' },
  expiresAt: undefined,
};
const key = { namespace: 'home', name: 'a' };

describe('conflicts over a store in another process', () => {
  let embedded: EmbeddedStore;
  let server: ApiServer;
  let store: RemoteStore;

  beforeEach(async () => {
    embedded = await openStore({ engine: new MemoryEngine() });
    server = new ApiServer({
      store: embedded,
      ...api,
      authenticator: { authenticate: () => Promise.resolve(root) },
      authorizer: accessControl(() => true),
    });
    const any = { host: '127.0.0.1', port: 0 };
    const { grpc } = await server.listen({ grpc: any, rest: any });
    store = await RemoteStore.connect({ server: `127.0.0.1:${grpc}`, token: undefined });
  });
  afterEach(async () => {
    await store.close();
    await server.close();
    await embedded.close();
  });

  it('a transaction is retried if an object that it read or writes was deleted meanwhile', async () => {
    for (const reads of [true, false]) {
      await store.create(lamps, { ...key, watts: 1 });
      let runs = 0;
      const found = await runTransaction(
        store,
        async (transaction) => {
          runs += 1;
          const read = reads ? await transaction.get(lamps, key) : await store.get(lamps, key);
          if (read) transaction.update(lamps, { ...read, watts: 2 });
          else transaction.create(lamps, { ...key, name: `other-${String(reads)}` });
          if (runs === 1) await embedded.deleteByName(lamps, key);
          return read !== undefined;
        },
        () => [],
        () => undefined,
      );
      expect([runs, found], `reads: ${String(reads)}`).to.deep.equal([2, false]);
    }
  });

  it('effects that two processes start concurrently for one object are both kept', async () => {
    const { metadata } = await store.create(lamps, key);
    const about = { kind: lamps, key, uid: metadata.uid };
    const begin = (over: ObjectStore, name: string) =>
      changeEffect(over, about, name, (current) => {
        const owner = { controller: name, key: 'home/a', startedAt: 0 };
        return current ?? { ...owner, phase: 'called', idempotencyKey: name };
      });
    let crossed = false;
    const crossing: ObjectStore = new Proxy<ObjectStore>(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name !== 'transact' || crossed) return value.bind(target) as unknown;
        return async (...args: Parameters<ObjectStore['transact']>) => {
          crossed = true;
          await begin(embedded, 'grow');
          return target.transact(...args);
        };
      },
    });
    await begin(crossing, 'make');
    const record = await store.get(effectRecords, { name: metadata.uid });
    expect(record?.effects).to.have.all.keys('make', 'grow');
  });
});
