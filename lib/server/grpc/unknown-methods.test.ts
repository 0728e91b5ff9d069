import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { bootstrap } from '../auth/index.js';
import { ApiServer, describeKinds, mount } from '../index.js';

const orders = kindOf<ApiObject & { readonly quantity: number }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { quantity: 'integer' })]);
const local = { host: '127.0.0.1', port: 0 };
const raw = (bytes: Buffer): Buffer => bytes;
const unknownPaths = ['/shop.v1.OrderService/Steal', '/shop.v1.Nothing/Get', '/x', '/*'];

describe('a gRPC method that does not exist', () => {
  let store: ObjectStore;
  let server: ApiServer;
  let client: Client;
  let token: string;
  before(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    token = await bootstrap(store);
    server = new ApiServer({ store, ...api });
    const { grpc } = await server.listen({ grpc: local, rest: local });
    client = new Client(`127.0.0.1:${grpc}`, credentials.createInsecure());
  });
  after(async () => {
    client.close();
    await server.close(0);
    await store.close();
  });

  function headers(authorization?: string): Metadata {
    const metadata = new Metadata();
    if (authorization !== undefined) metadata.set('authorization', authorization);
    return metadata;
  }
  const unary = (path: string, metadata: Metadata): Promise<ServiceError | null> =>
    new Promise((resolve) => {
      client.makeUnaryRequest(path, raw, raw, Buffer.alloc(0), metadata, (error) => resolve(error));
    });
  const streamed = (path: string, metadata: Metadata): Promise<ServiceError> =>
    new Promise((resolve) => {
      const call = client.makeBidiStreamRequest(path, raw, raw, metadata);
      call.on('error', (error: ServiceError) => resolve(error));
      call.on('data', () => undefined);
    });

  for (const [form, ask] of [
    ['unary', unary],
    ['streamed', streamed],
  ] as const)
    for (const path of unknownPaths) {
      it(`is Unauthenticated without a token, like an existing one: ${path}, ${form}`, async () => {
        const error = await ask(path, headers());
        expect(error?.code, error?.details).to.equal(status.UNAUTHENTICATED);
        expect(error?.details).to.not.contain(path);
      });

      it(`is Unimplemented by name with a token: ${path}, ${form}`, async () => {
        const error = await ask(path, headers(`Bearer ${token}`));
        expect(error?.code).to.equal(status.UNIMPLEMENTED);
        expect(error?.details).to.equal(
          `${path} is not a method of this API; reflection lists all methods`,
        );
      });
    }

  it('is Unauthenticated with a wrong token', async () => {
    const error = await unary('/x', headers('Bearer kedge_wrong'));
    expect(error?.code, error?.details).to.equal(status.UNAUTHENTICATED);
  });

  it('does not affect existing methods', async () => {
    const error = await unary('/shop.v1.OrderService/Get', headers());
    expect(error?.code).to.equal(status.UNAUTHENTICATED);
    const listed = await unary('/shop.v1.OrderService/List', headers(`Bearer ${token}`));
    expect(listed?.code).to.equal(status.PERMISSION_DENIED);
  });
});
