import { type EmbeddedStore, MemoryEngine, openStore } from 'kedge';
import { ApiClient } from 'kedge/client';
import {
  accessControl,
  ApiServer,
  type DescribedKinds,
  describeKinds,
  type Identity,
} from 'kedge/server';

const identity: Identity = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
};

/** An answer of REST. */
export interface RestAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Declared kinds behind both transports, over a memory store; all callers have all rights. */
export class DeclaredApi implements AsyncDisposable {
  readonly api: DescribedKinds;
  readonly store: EmbeddedStore;
  readonly client: ApiClient;
  readonly #server: ApiServer;
  readonly #url: string;

  private constructor(api: DescribedKinds, store: EmbeddedStore, server: ApiServer, ports: Ports) {
    this.api = api;
    this.store = store;
    this.#server = server;
    this.#url = `http://127.0.0.1:${ports.rest}`;
    this.client = new ApiClient({ ...api, server: `127.0.0.1:${ports.grpc}`, token: 'ann' });
  }

  static async start(...kinds: Parameters<typeof describeKinds>[1]): Promise<DeclaredApi> {
    const api = describeKinds('test.v1', kinds);
    const store = await openStore({ engine: new MemoryEngine() });
    const server = new ApiServer({
      store,
      ...api,
      authenticator: { authenticate: () => Promise.resolve(identity) },
      authorizer: accessControl(() => true),
    });
    const any = { host: '127.0.0.1', port: 0 };
    const ports = await server.listen({ grpc: any, rest: any });
    return new DeclaredApi(api, store, server, ports);
  }

  /** @param path below `/v1` */
  async rest(method: string, path: string, body?: unknown): Promise<RestAnswer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${this.#url}/v1${path}`, {
      method,
      headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: text }),
    });
    return {
      status: answer.status,
      body: (await answer.json()) as Readonly<Record<string, unknown>>,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.#server.close();
    await this.store.close();
  }
}

interface Ports {
  readonly grpc: number;
  readonly rest: number;
}
