import { expect } from 'chai';
import {
  boolean,
  declareKind,
  hasCode,
  int32,
  json,
  list,
  MemoryEngine,
  type ObjectStore,
  openStore,
  SharedInformer,
  StatusError,
  string,
} from 'kedge';
import { ApiClient } from 'kedge/client';
import { accessControl, ApiServer, describeKinds, type Identity, mount } from 'kedge/server';
import { eventually } from 'kedge/testing';

const orders = declareKind({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  fields: {
    customer: string({ required: true, immutable: true }),
    quantity: int32({ minimum: 1, maximum: 99, required: true }),
    gift: boolean(),
    notes: list(string()),
    extra: json(),
    price: string(),
  },
  status: { phase: string() },
});
const shops = declareKind({
  kind: 'Shop',
  plural: 'shops',
  scope: 'Cluster',
  fields: { city: string() },
});

const api = describeKinds('shop.v1', [
  mount(orders, {
    prepare: (_context, order) => Promise.resolve({ ...order, price: `${order.quantity}.00` }),
    validate: ({ identity }, order) =>
      Promise.resolve(
        order.customer === identity.subject
          ? []
          : [{ field: 'customer', description: `${order.customer} is not you` }],
      ),
  }),
  shops,
]);

const authenticator = {
  authenticate: (header: string | undefined): Promise<Identity> => {
    const [, subject] = /^Bearer (\w+)$/.exec(header ?? '') ?? [];
    if (subject === undefined)
      return Promise.reject(
        new StatusError({ code: 'Unauthenticated', reason: 'NoToken', message: 'say who you are' }),
      );
    return Promise.resolve({
      subject,
      kind: 'user',
      policies: [],
      tokenId: '',
      expiresAt: undefined,
    });
  },
};

describe('kinds of an embedder behind gRPC and REST', function () {
  this.timeout(180_000);
  let store: ObjectStore;
  let server: ApiServer;
  let rest: string;
  let client: ApiClient;

  before(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    server = new ApiServer({
      store,
      ...api,
      authenticator,
      authorizer: accessControl(
        ({ subject }, { resource }) => subject === 'root' || resource.startsWith('orders'),
      ),
    });
    const any = { host: '127.0.0.1', port: 0 };
    const ports = await server.listen({ grpc: any, rest: any });
    rest = `http://127.0.0.1:${ports.rest}`;
    client = new ApiClient({ ...api, server: `127.0.0.1:${ports.grpc}`, token: 'ann' });
  });
  after(async () => {
    client.close();
    await server.close();
    await store.close();
  });
  const call = async (
    method: string,
    path: string,
    body?: object,
    token = 'ann',
  ): Promise<{ status: number; body: Record<string, unknown> }> => {
    const answer = await fetch(`${rest}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const path = '/v1/namespaces/default/orders';

  it('writes and reads over REST, with defaults of the admission hook', async () => {
    const made = await call('POST', path, {
      name: 'one',
      customer: 'ann',
      quantity: 3,
      gift: true,
      notes: ['fragile'],
      extra: { colour: { r: 1 } },
      phase: 'Shipped',
    });
    expect(made.status).to.be.within(200, 201);
    const { body } = await call('GET', `${path}/one`);
    expect(body).to.include({ name: 'one', customer: 'ann', quantity: 3, gift: true });
    expect(body).to.include({ price: '3.00', phase: '' });
    expect(body.extra).to.deep.equal({ colour: { r: 1 } });
    expect((body.metadata as { generation: number }).generation).to.equal(1);
  });

  it('refuses by schema, by hook and for immutable fields, with all violations', async () => {
    const shape = await call('POST', path, { name: 'Bad Name', quantity: 100, colour: 'red' });
    expect(shape.status).to.equal(400);
    const text = JSON.stringify(shape.body);
    for (const part of ['name', 'customer', 'quantity', 'colour']) expect(text).to.contain(part);
    const hook = await call('POST', path, { name: 'two', customer: 'bob', quantity: 1 });
    expect(JSON.stringify(hook.body)).to.contain('bob is not you');
    const fixed = await call('PUT', `${path}/one`, { name: 'one', customer: 'ann2', quantity: 1 });
    expect(fixed.status).to.equal(400);
  });

  it('uses authentication and rights of the embedder', async () => {
    const nobody = await fetch(`${rest}${path}`);
    expect(nobody.status).to.equal(401);
    expect((await call('GET', '/v1/shops')).status).to.equal(403);
    expect((await call('GET', '/v1/shops', undefined, 'root')).status).to.equal(200);
    const denied = await client
      .resource(shops)
      .list()
      .catch((e: unknown) => e);
    expect(hasCode(denied, 'PermissionDenied')).to.equal(true);
  });

  it('serves a typed client and an informer over gRPC from the same declaration', async () => {
    const remote = client.resource(orders);
    await using informer = new SharedInformer({ source: remote.source(), name: 'orders' });
    informer.start();
    await informer.waitForSync();
    expect([...informer.lister.keys()]).to.deep.equal(['default/one']);
    const two = { namespace: 'default', name: 'two' };
    const made = await remote.create({ ...two, customer: 'ann', quantity: 2 });
    expect(made.price).to.equal('2.00');
    await remote.updateStatus(two, { phase: 'Shipped' }, made.metadata);
    await eventually('the status', () => informer.lister.get('default/two')?.phase === 'Shipped');
    await remote.delete(made);
    await eventually('the deletion', () => !informer.lister.has('default/two'));
  });
});
