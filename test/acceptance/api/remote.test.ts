import { type AddressInfo, createServer } from 'node:net';
import { descriptorSet } from '@kedge/api';
import { namespaces, storageClasses, volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { hasCode, SharedInformer } from 'kedge';
import { ApiClient } from 'kedge/client';
import { SchemaRegistry } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

/** A port that the server can use again after it was killed. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

const schemas = new SchemaRegistry(descriptorSet);

describe('a remote client', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let client: ApiClient;
  /** For each requested token whether a new one was required. */
  let asked: boolean[];
  let token: string;

  before(async () => {
    const port = await freePort();
    daemon = await TestDaemon.start({ arguments: ['--grpc-address', `127.0.0.1:${port}`] });
  });
  after(() => daemon.dispose());
  beforeEach(() => {
    asked = [];
    ({ token } = daemon);
    client = new ApiClient({
      server: daemon.grpcAddress,
      schemas,
      packageName: 'api',
      token: (renew) => {
        asked.push(renew);
        if (renew) ({ token } = daemon);
        return Promise.resolve(token);
      },
    });
  });
  afterEach(() => client.close());

  it('reads, writes and watches typed objects', async () => {
    const remote = client.resource(storageClasses);
    const key = { name: 'spare' };
    expect(await remote.get(key)).to.equal(undefined);
    const local = await remote.get({ name: 'local' });
    const made = await remote.create({ ...local!, ...key, default: false, metadata: {} });
    expect(made.metadata.resourceVersion).to.match(/^\d+$/);
    const changed = await remote.update({ ...made, labels: { tier: 'slow' } });
    const stale = await remote.update({ ...made, labels: {} }).catch((e: unknown) => e);
    expect(hasCode(stale, 'Aborted')).to.equal(true);
    const stop = new AbortController();
    const from = Number(made.metadata.resourceVersion);
    for await (const batch of remote.watch({ fromRevision: from, signal: stop.signal })) {
      const [event] = batch.events;
      if (!event) continue;
      expect([event.type, event.object.labels]).to.deep.equal(['MODIFIED', { tier: 'slow' }]);
      expect(event.revision).to.equal(Number(changed.metadata.resourceVersion));
      stop.abort();
    }
    await remote.delete(changed);
    expect(await remote.get(key)).to.equal(undefined);
  });

  it('lists page by page, without a namespace', async () => {
    const bodies = Array.from({ length: 7 }, (_, n) => ({
      namespace: 'default',
      name: `paged-${n}`,
      size: '1Mi',
      accessMode: 'ReadWriteOnce' as const,
      storageClassName: 'local',
    }));
    const remote = client.resource(volumes, { pageSize: 2 });
    for (const body of bodies) await daemon.ok('POST', '/v1/namespaces/default/volumes', body);
    const { items, revision } = await remote.list();
    expect(items.map((v) => v.name)).to.deep.equal(bodies.map((v) => v.name));
    expect(revision).to.be.greaterThan(0);
    for (const { name } of bodies)
      await daemon.ok('DELETE', `/v1/namespaces/default/volumes/${name}`);
  });

  it('requests a new token once when the old one is no longer valid', async () => {
    token = 'kedge_0000_worthless';
    const { items } = await client.resource(namespaces).list();
    expect(items.map((namespace) => namespace.name)).to.include('default');
    expect(asked).to.deep.equal([false, true]);
    token = 'kedge_0000_worthless';
    const stop = new AbortController();
    const remote = client.resource(namespaces);
    const watch = remote.watch({ fromRevision: 1, signal: stop.signal });
    await watch[Symbol.asyncIterator]().next();
    stop.abort();
    expect(asked).to.deep.equal([false, true, false, true]);
  });

  it('an informer over it survives kill -9 of the server, and misses nothing', async () => {
    const remote = client.resource(namespaces);
    await using informer = new SharedInformer({
      source: remote.source(),
      name: 'namespaces',
      backoff: { baseMs: 50, maxMs: 500 },
    });
    const changes: string[] = [];
    informer.addHandler({
      onAdd: ({ name }) => void changes.push(`+${name}`),
      onDelete: ({ object }) => void changes.push(`-${object.name}`),
    });
    informer.start();
    await informer.waitForSync();
    await remote.create({ name: 'before' });
    await eventually('the first', () => changes.includes('+before'));
    await daemon.crash();
    await eventually('the channel', () =>
      remote.create({ name: 'after' }).then(
        () => true,
        // The answer of an earlier attempt may be lost.
        (error: unknown) => hasCode(error, 'AlreadyExists'),
      ),
    );
    await remote.deleteByName({ name: 'before' });
    await eventually('the others', () => changes.includes('+after') && changes.includes('-before'));
    expect(changes.filter((line) => line === '+before')).to.have.length(1);
    await eventually('the deletion', async () => !(await remote.get({ name: 'before' })));
    const present = (await remote.list()).items.map((namespace) => namespace.name);
    expect([...informer.lister.keys()].sort()).to.deep.equal(present);
    await remote.deleteByName({ name: 'after' });
  });
});
