import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { accessControl, ApiServer, describeKinds, mount } from '../../server/index.js';
import { type EmbeddedStore, MemoryEngine, openStore } from '../../store/index.js';
import { eventually } from '../../testing/index.js';
import { ApiClient, RemoteStore } from '../index.js';

const lamps = kindOf<ApiObject & { readonly watts?: number }>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const api = describeKinds('house.v1', [mount(lamps, { watts: 'integer' })]);
const ann = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
} as const;
const local = '127.0.0.1';

/** A proxy to a server. Its connections can be left open without forwarding, as behind a router that lost its state. */
class Relay {
  readonly #server: Server;
  readonly #open: [Socket, Socket][] = [];
  connections = 0;

  constructor(port: number) {
    this.#server = createServer((near) => {
      const far = connect(port, local);
      near.on('error', () => undefined).pipe(far);
      far.on('error', () => undefined).pipe(near);
      this.#open.push([near, far]);
      this.connections += 1;
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, local, resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  stall(): void {
    for (const [near, far] of this.#open) {
      near.unpipe(far).pause();
      far.unpipe(near).pause();
    }
  }

  close(): void {
    for (const pair of this.#open) for (const socket of pair) socket.destroy();
    this.#server.close();
  }
}

describe('a dead connection', () => {
  let store: EmbeddedStore;
  let server: ApiServer;
  let relay: Relay;
  let address: string;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    const authenticator = { authenticate: () => Promise.resolve(ann) };
    const authorizer = accessControl(() => true);
    server = new ApiServer({ store, ...api, authenticator, authorizer });
    const free = { host: local, port: 0 };
    const { grpc } = await server.listen({ grpc: free, rest: free });
    relay = new Relay(grpc);
    address = `${local}:${await relay.listen()}`;
  });
  afterEach(async () => {
    relay.close();
    await server.close(0);
    await store.close();
  });

  it('is closed by a remote store, whose watches and reads continue over another one', async () => {
    const remote = await RemoteStore.connect({ server: address, token: 't', keepaliveMs: 400 });
    const stop = new AbortController();
    const received: string[] = [];
    const watching = (async () => {
      const { signal } = stop;
      for await (const { events } of remote.watch(lamps, { fromRevision: 0, signal }))
        received.push(...events.map(({ object }) => object.name));
    })();
    try {
      await store.create(lamps, { name: 'before' });
      await eventually('the first event', () => received.length === 1);
      relay.stall();
      await store.create(lamps, { name: 'after' });
      await eventually('the second event', () => received.length === 2, 30_000);
      expect(received).to.deep.equal(['before', 'after']);
      expect((await remote.get(lamps, { name: 'after' }))?.name).to.equal('after');
      expect(relay.connections).to.be.greaterThan(1);
    } finally {
      stop.abort();
      await watching;
      await remote.close();
    }
  }).timeout(180_000);

  it('is closed by a client, which follows a kind over another one', async () => {
    using client = new ApiClient({ server: address, token: 't', ...api, keepaliveMs: 400 });
    const stop = new AbortController();
    const received: string[] = [];
    const following = (async () => {
      const { signal } = stop;
      for await (const { object } of client.resource(lamps).follow({ signal }))
        received.push(object.name);
    })();
    try {
      await store.create(lamps, { name: 'before' });
      await eventually('the first event', () => received.length === 1);
      relay.stall();
      await store.create(lamps, { name: 'after' });
      await eventually('the second event', () => received.length === 2, 30_000);
      expect(received).to.deep.equal(['before', 'after']);
    } finally {
      stop.abort();
      await following;
    }
  }).timeout(180_000);

  it('is probed at a valid interval only: other values of keepaliveMs are refused', () => {
    for (const keepaliveMs of [0, -1, 1.5, Number.NaN, 2 ** 31])
      expect(() => new ApiClient({ server: address, token: 't', ...api, keepaliveMs })).to.throw(
        TypeError,
        'keepaliveMs',
      );
  });
});
