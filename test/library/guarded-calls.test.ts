import { expect } from 'chai';
import {
  declareKind,
  hasCode,
  int32,
  MemoryEngine,
  type ObjectOf,
  type ObjectStore,
  openStore,
  StatusError,
  string,
} from 'kedge';
import { ApiClient, type ResourceClientOf } from 'kedge/client';
import { accessControl, ApiServer, describeKinds } from 'kedge/server';

const orders = declareKind({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  fields: { quantity: int32() },
  status: { phase: string() },
});
type Order = ObjectOf<typeof orders>;
const api = describeKinds('shop.v1', [orders]);
const key = { namespace: 'default', name: 'one' };
const identity = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
} as const;

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('guarded calls over the wire', function () {
  this.timeout(180_000);
  let store: ObjectStore;
  let server: ApiServer;
  let client: ApiClient;
  let remote: ResourceClientOf<typeof orders>;
  let rest: string;
  /** Runs after a write was stored and before its answer is lost. */
  let onLost: (() => Promise<unknown>) | undefined;
  let transactions: number;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    onLost = undefined;
    transactions = 0;
    const transact: ObjectStore['transact'] = async (operations) => {
      const results = await store.transact(operations);
      transactions += operations.length > 0 ? 1 : 0;
      const meanwhile = operations.length > 0 ? onLost : undefined;
      if (!meanwhile) return results;
      onLost = undefined;
      await meanwhile();
      throw new StatusError({ code: 'Unavailable', reason: 'Lost', message: 'answer lost' });
    };
    const remove: ObjectStore['delete'] = async (kind, { name, namespace, metadata }, more) => {
      const [result] = await transact([
        {
          op: 'delete',
          kind,
          key: namespace === undefined ? { name } : { name, namespace },
          precondition: { ...more, uid: metadata.uid },
        },
      ]);
      return result?.object as never;
    };
    const losing = new Proxy(store, {
      get: (target, property) => {
        if (property === 'transact') return transact;
        if (property === 'delete') return remove;
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    server = new ApiServer({
      store: losing,
      ...api,
      authenticator: { authenticate: () => Promise.resolve(identity) },
      authorizer: accessControl(() => true),
    });
    const any = { host: '127.0.0.1', port: 0 };
    const ports = await server.listen({ grpc: any, rest: any });
    rest = `http://127.0.0.1:${ports.rest}/v1/namespaces/default/orders`;
    const address = `127.0.0.1:${ports.grpc}`;
    client = new ApiClient({ ...api, server: address, token: 'ann', retry: { attempts: 4 } });
    remote = client.resource(orders);
  });
  afterEach(async () => {
    client.close();
    await server.close();
    await store.close();
  });

  /** Deletes the object and creates another one of its name. */
  const recreate = async (quantity: number): Promise<Order> => {
    await store.deleteByName(orders, key).catch(() => undefined);
    return store.create(orders, { ...key, quantity });
  };
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${rest}${path}`, {
      method,
      headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const { reason, message } = (await answer.json()) as Record<string, unknown>;
    return { status: answer.status, reason, message };
  };
  const quantity = async (): Promise<number | undefined> =>
    (await store.get(orders, key))?.quantity;

  it('a client updates by the version and uid of the object, and overwrites only on request', async () => {
    const made = await remote.create({ ...key, quantity: 1 });
    const changed = await remote.update({ ...made, quantity: 2 });
    const stale = await errorOf(remote.update({ ...made, quantity: 3 }));
    expect(hasCode(stale, 'Aborted') && stale.reason).to.equal('Conflict');
    const other = await recreate(4);
    const metadata = { ...other.metadata, uid: changed.metadata.uid };
    const elsewhere = await errorOf(remote.update({ ...changed, quantity: 5, metadata }));
    expect(hasCode(elsewhere, 'Aborted') && elsewhere.reason).to.equal('Conflict');
    expect(await quantity()).to.equal(4);
    const bare = await errorOf(remote.update({ ...key, quantity: 6 } as Order));
    expect(hasCode(bare, 'InvalidArgument') && bare.message).to.match(/call overwrite/);
    expect((await remote.overwrite({ ...made, quantity: 7 })).metadata.uid).to.equal(
      other.metadata.uid,
    );
    expect((await remote.overwrite({ ...key, quantity: 8 })).quantity).to.equal(8);
  });

  it('a client deletes the object that it read, and by name only on request', async () => {
    const first = await remote.create({ ...key, quantity: 1 });
    const second = await recreate(2);
    const refused = await errorOf(remote.delete(first));
    expect(hasCode(refused, 'Aborted') && refused.reason).to.equal('Conflict');
    const changed = await remote.update({ ...second, quantity: 3 });
    const { resourceVersion } = second.metadata;
    const stale = await errorOf(remote.delete(second, { resourceVersion }));
    expect(hasCode(stale, 'Aborted')).to.equal(true);
    expect((await remote.delete(second)).quantity).to.equal(3);
    expect(hasCode(await errorOf(remote.delete(changed)), 'NotFound')).to.equal(true);
    await recreate(4);
    expect((await remote.deleteByName(key)).quantity).to.equal(4);
    const bare = await errorOf(remote.delete({ ...key, quantity: 5 } as Order));
    expect(hasCode(bare, 'InvalidArgument') && bare.message).to.match(/call deleteByName/);
  });

  it('status is written with a check of the given uid and version', async () => {
    const first = await remote.create({ ...key, quantity: 1 });
    const second = await recreate(2);
    const { uid } = first.metadata;
    for (const guard of [{ uid }, first.metadata]) {
      const refused = await errorOf(remote.updateStatus(key, { phase: 'Sent' }, guard));
      expect(hasCode(refused, 'Aborted') && refused.reason).to.equal('Conflict');
    }
    const updated = await remote.updateStatus(key, { phase: 'Sent' }, second.metadata);
    expect(updated.phase).to.equal('Sent');
  });

  it('over REST a PUT without a version overwrites; a given uid and version are checked', async () => {
    const first = await store.create(orders, { ...key, quantity: 1 });
    const second = await recreate(2);
    const { uid } = first.metadata;
    expect((await call('PUT', '/one', { quantity: 3 })).status).to.equal(200);
    for (const path of ['/one', '/one?dryRun=true', '/one/status']) {
      const other = await call('PUT', path, { quantity: 4, metadata: { uid } });
      expect(other, path).to.include({ status: 409, reason: 'Conflict' });
      expect(other.message, path).to.contain('recreated');
    }
    const { resourceVersion } = second.metadata;
    for (const path of ['/one', '/one?dryRun=true']) {
      const stale = await call('PUT', path, { quantity: 4, metadata: { resourceVersion } });
      expect(stale, path).to.include({ status: 409, reason: 'Conflict' });
    }
    expect(await quantity()).to.equal(3);
    for (const query of [`uid=${uid}`, `uid=${uid}&dryRun=true`]) {
      const other = await call('DELETE', `/one?${query}`);
      expect(other, query).to.include({ status: 409, reason: 'Conflict' });
    }
    expect((await call('DELETE', `/one?uid=${second.metadata.uid}`)).status).to.equal(200);
    expect(await quantity()).to.equal(undefined);
  });

  it('an overwrite, an update and a deletion by name are never repeated after a lost answer', async () => {
    let made = await store.create(orders, { ...key, quantity: 1 });
    const meanwhile = async (): Promise<void> => {
      made = await recreate(9);
      transactions = 0;
    };
    for (const attempt of [
      () => remote.overwrite({ ...key, quantity: 2 }),
      () => remote.update({ ...made, quantity: 3 }),
      () => client.call('OrderService.Update', { ...key, order: { quantity: 4 } }),
      () => remote.deleteByName(key),
    ]) {
      onLost = meanwhile;
      const lost = await errorOf(attempt());
      expect(hasCode(lost, 'Unavailable'), attempt.toString()).to.equal(true);
      expect(await quantity(), attempt.toString()).to.equal(9);
      expect(transactions).to.equal(0);
    }
  });

  it('a deletion by uid is repeated after a lost answer, and never reaches another object of the name', async () => {
    const gone = await store.create(orders, { ...key, quantity: 1 });
    onLost = () => Promise.resolve();
    expect(await remote.delete(gone)).to.deep.equal(gone);
    expect(await quantity()).to.equal(undefined);
    const first = await store.create(orders, { ...key, quantity: 2 });
    onLost = () => recreate(3);
    expect(await remote.delete(first)).to.deep.equal(first);
    expect(await quantity()).to.equal(3);
    await store.deleteByName(orders, key);
    const finalizers = ['x/y'];
    const held = await store.create(orders, { ...key, quantity: 4, metadata: { finalizers } });
    onLost = () => Promise.resolve();
    expect((await remote.delete(held)).metadata.deletionRequestedAt).to.be.a('string');
  });
});
