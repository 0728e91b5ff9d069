import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  accessControl,
  ApiServer,
  describeKinds,
  type Identity,
  mount,
} from '../../server/index.js';
import { LevelEngine, type ObjectStore, openStore } from '../../store/index.js';
import { others, things } from '../../testing/conformance/subject.js';
import { storeConformance } from '../../testing/index.js';
import { RemoteStore } from './remote-store.js';

const root: Identity = {
  subject: 'root',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
};
const api = describeKinds('suite.v1', [
  mount(things, { value: 'integer', seen: 'integer' }),
  mount(others, { value: 'integer', seen: 'integer' }),
]);
const anywhere = { host: '127.0.0.1', port: 0 };

/** A store over gRPC to a server with a store on disk. Closing it also closes the server and the store on disk. */
async function open(directory: string): Promise<ObjectStore> {
  const store = await openStore({ engine: new LevelEngine({ directory }) });
  const server = new ApiServer({
    store,
    ...api,
    authenticator: { authenticate: () => Promise.resolve(root) },
    authorizer: accessControl(() => true),
  });
  const { grpc } = await server.listen({ grpc: anywhere, rest: anywhere });
  const remote = await RemoteStore.connect({ server: `127.0.0.1:${grpc}`, token: undefined });
  const close = remote.close.bind(remote);
  remote.close = async () => {
    await close();
    await server.close();
    await store.close();
  };
  return remote;
}

storeConformance({
  name: 'over gRPC to a server with a store on disk',
  capabilities: { durable: true, denseRevisions: true, embedded: false },
  runner: { describe, it },
  subject: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-remote-'));
    return {
      open: () => open(directory),
      cleanUp: () => rm(directory, { recursive: true }),
    };
  },
});
