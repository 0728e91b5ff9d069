import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiObject, kindOf } from '../../object/index.js';
import {
  accessControl,
  ApiServer,
  describeKinds,
  type Identity,
  mount,
} from '../../server/index.js';
import {
  backupToFile,
  type EmbeddedStore,
  MemoryEngine,
  openStore,
  restoreBackup,
} from '../../store/index.js';
import { RemoteStore } from './remote-store.js';
import type { RemoteStoreOptions } from './remote-store-options.js';

export interface Lamp extends ApiObject {
  readonly watts?: number;
  readonly lit?: boolean;
}
export const lamps = kindOf<Lamp>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['lit'],
});
export const api = describeKinds('house.v1', [mount(lamps, { watts: 'integer', lit: 'boolean' })]);
export const root: Identity = {
  subject: 'root',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
};
export const local = '127.0.0.1';

/** A server that can be restarted on its port, with the same store or another. */
export class House {
  readonly #open: RemoteStore[] = [];
  store!: EmbeddedStore;
  server: ApiServer | undefined;
  port = 0;

  async start(store?: EmbeddedStore): Promise<void> {
    this.store = store ?? (await openStore({ engine: new MemoryEngine() }));
    this.server = new ApiServer({
      store: this.store,
      ...api,
      authenticator: { authenticate: () => Promise.resolve(root) },
      authorizer: accessControl(() => true),
    });
    const grpc = { host: local, port: this.port };
    this.port = (await this.server.listen({ grpc, rest: { host: local, port: 0 } })).grpc;
  }

  async stop(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
  }

  async connect(options: Partial<RemoteStoreOptions> = {}): Promise<RemoteStore> {
    const store = await RemoteStore.connect({
      server: `${local}:${this.port}`,
      token: undefined,
      ...options,
    });
    this.#open.push(store);
    return store;
  }

  /** A restored backup of the store: the same objects under another store id. */
  async restored(): Promise<EmbeddedStore> {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-remote-'));
    try {
      const path = join(directory, 'backup');
      await backupToFile(this.store, path);
      const engine = new MemoryEngine();
      await restoreBackup(path, engine);
      return await openStore({ engine });
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  async close(): Promise<void> {
    for (const store of this.#open) await store.close();
    await this.stop();
    await this.store.close();
  }
}
