import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  backupToFile,
  declareKind,
  type EmbeddedStore,
  MemoryEngine,
  type ObjectOf,
  openStore,
  restoreBackup,
  SharedInformer,
  type StatusError,
  type WatchPosition,
  string,
} from 'kedge';
import { ApiClient, ResourceClient } from 'kedge/client';
import { methodTable } from 'kedge/rpc';
import { accessControl, ApiServer, describeKinds, type Identity } from 'kedge/server';
import { eventually } from 'kedge/testing';

const lamps = declareKind({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  fields: { room: string() },
});
type Lamp = ObjectOf<typeof lamps>;
const described = describeKinds('lamps.v1', [lamps]);
const caller: Identity = {
  subject: 'tester',
  kind: 'user',
  policies: [],
  tokenId: 't',
  expiresAt: undefined,
};

/** A port that the second server can use again. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function storeListed(store: EmbeddedStore): Promise<readonly Lamp[]> {
  return (await store.list(lamps)).items;
}

async function storeOf(names: readonly string[], room: string): Promise<EmbeddedStore> {
  const store = await openStore({ engine: new MemoryEngine() });
  for (const name of names) await store.create(lamps, { name, room });
  return store;
}

describe('clients of a server whose store is replaced', function () {
  this.timeout(180_000);
  let port: number;
  let server: ApiServer;
  let client: ApiClient;

  async function serve(store: EmbeddedStore): Promise<void> {
    server = new ApiServer({
      store,
      ...described,
      authenticator: { authenticate: () => Promise.resolve(caller) },
      authorizer: accessControl(() => true),
    });
    await server.listen({
      grpc: { host: '127.0.0.1', port },
      rest: { host: '127.0.0.1', port: 0 },
    });
  }

  beforeEach(async () => {
    port = await freePort();
    client = new ApiClient({ ...described, server: `127.0.0.1:${port}`, token: 'any' });
  });
  afterEach(async () => {
    client.close();
    await server.close();
  });

  it('have the objects of the new one: informers, follow and waitFor, although its revisions exceed theirs', async () => {
    const first = await storeOf(['both', 'old'], 'hall');
    const second = await storeOf(['filler-1', 'filler-2', 'both', 'new', 'filler-3'], 'attic');
    await serve(first);
    const remote = client.resource(lamps);
    await using informer = new SharedInformer({
      source: remote.source(),
      name: 'lamps',
      backoff: { baseMs: 20, maxMs: 200 },
    });
    informer.start();
    await informer.waitForSync();
    const stop = new AbortController();
    const { items: known, cursor } = await remote.list();
    const state = new Map(known.map(({ name, room }) => [name, room]));
    const following = (async () => {
      for await (const { type, object } of remote.follow({ cursor, known, signal: stop.signal }))
        if (type === 'DELETED') state.delete(object.name);
        else state.set(object.name, object.room);
    })();
    // The second store does not have it, so its deletion can't be observed.
    let looked = false;
    const isGone = (lamp: Lamp | undefined): boolean => {
      looked = true;
      return lamp === undefined;
    };
    const waiting = remote.waitFor({ name: 'old' }, isGone, { timeoutMs: 20_000 });
    await eventually('the first check of the condition', () => looked);
    await server.close();
    await first.close();
    await serve(second);
    await second.create(lamps, { name: 'later', room: 'attic' });
    const wanted = (await second.list(lamps)).items.map(({ name, room }) => `${name} in ${room}`);
    await eventually('the follower', () => state.size === wanted.length && state.has('later'));
    expect([...state].map(([name, room]) => `${name} in ${room}`).sort()).to.deep.equal(wanted);
    await eventually('the informer', () => informer.lister.has('later'));
    const cached = informer.lister.list().map(({ name, room }) => `${name} in ${room}`);
    expect(cached.sort()).to.deep.equal(wanted);
    expect(await waiting).to.equal(undefined);
    stop.abort();
    await following;
    await second.close();
  });

  it('can not watch from their position, and a list restarts automatically', async () => {
    const first = await storeOf(['a', 'b', 'c'], 'hall');
    const second = await storeOf(['x', 'y', 'z', 'zz'], 'attic');
    await serve(first);
    const { cursor } = await client.resource(lamps).list();
    let calls = 0;
    const swapping = {
      stream: client.stream.bind(client),
      call: async (...args: Parameters<ApiClient['call']>) => {
        const answer = await client.call(...args);
        calls += 1;
        if (calls === 1) {
          await server.close();
          await serve(second);
        }
        return answer;
      },
    };
    const methods = methodTable(described.schemas, described.packageName, [lamps]);
    const paged = new ResourceClient(swapping, lamps, methods, { pageSize: 2 });
    const { items, cursor: later } = await paged.list();
    expect(items.map(({ name }) => name)).to.deep.equal(['x', 'y', 'z', 'zz']);
    expect(later).to.equal(`${second.revision}.${second.storeId}`);
    const { signal } = new AbortController();
    const watch = client.resource(lamps).watch({ cursor, signal });
    const refusal = await watch[Symbol.asyncIterator]()
      .next()
      .catch((error: unknown) => error);
    expect((refusal as StatusError).reason).to.equal('OtherStore');
    await first.close();
    await second.close();
  });

  it('follow a restored backup: earlier cursors and revisions are refused, and later changes are received', async () => {
    const first = await storeOf(['kept'], 'hall');
    await serve(first);
    const remote = client.resource(lamps);
    const folder = await mkdtemp(join(tmpdir(), 'kedge-restored-'));
    const file = join(folder, 'lamps.backup');
    await backupToFile(first, file);
    await first.create(lamps, { name: 'lost', room: 'hall' });
    const { cursor, revision } = await remote.list();
    await server.close();
    await first.close();
    const engine = new MemoryEngine();
    await restoreBackup(file, engine);
    await rm(folder, { recursive: true });
    const second = await openStore({ engine });
    for (let n = 0; n < 5; n += 1)
      await second.create(lamps, { name: `later-${n}`, room: 'attic' });
    await serve(second);
    const reasonFrom = async (position: WatchPosition): Promise<unknown> => {
      const { signal } = new AbortController();
      const watch = remote.watch({ ...position, signal });
      const refusal = await watch[Symbol.asyncIterator]()
        .next()
        .catch((error: unknown) => error);
      return (refusal as StatusError).reason;
    };
    await eventually('the second server', () => remote.get({ name: 'kept' }));
    expect(await reasonFrom({ cursor })).to.equal('OtherStore');
    expect(await reasonFrom({ fromRevision: revision })).to.equal('Compacted');
    const stop = new AbortController();
    const changes: string[] = [];
    const known = (await storeListed(second)).filter(({ name }) => name === 'kept');
    for await (const { type, object } of remote.follow({ cursor, known, signal: stop.signal })) {
      changes.push(`${type} ${object.name}`);
      if (changes.length === 5) stop.abort();
    }
    expect(changes.sort()).to.deep.equal([0, 1, 2, 3, 4].map((n) => `MODIFIED later-${n}`));
    await second.close();
  });
});
