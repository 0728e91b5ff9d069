import { expect } from 'chai';
import { ApiClient } from 'kedge/client';
import { type JsonObject, methodTable } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import { apiSchemas } from '@kedge/api/client';
import { allKinds } from '@kedge/controllers/kinds';
import { TestDaemon, workload } from '../daemon.js';

/** Objects by namespace and name from one answer. */
type Shown = Readonly<Record<string, JsonObject>>;

const all = { namespace: '-' };
const base = '/v1/namespaces/default';

function shown(objects: readonly unknown[]): Shown {
  return Object.fromEntries(
    (objects as readonly JsonObject[]).map((object) => [
      `${String(object.namespace)}/${String(object.name)}`,
      object,
    ]),
  );
}

describe('the present state that a watch starts with', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let client: ApiClient;
  const methods = methodTable(apiSchemas(), 'api', allKinds);

  before(async () => {
    daemon = await TestDaemon.start();
    client = new ApiClient({
      server: daemon.grpcAddress,
      token: daemon.token,
      schemas: apiSchemas(),
      packageName: 'api',
    });
    const { volume, service } = workload(daemon, 'seen', 'sleep 600');
    await daemon.ok('POST', `${base}/volumes`, volume);
    await daemon.ok('POST', `${base}/services`, service);
    await daemon.ok('POST', `${base}/configmaps`, { name: 'seen', data: { a: '1' } });
    await daemon.ok('POST', `${base}/secrets`, { name: 'seen', data: { a: '1' } });
    const local = { size: '1Mi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    await daemon.ok('POST', `${base}/volumes`, { name: 'copied', ...local });
    await eventually('a volume to copy', async () => {
      const { status } = await daemon.ok('GET', `${base}/volumes/copied`);
      return status === 'Available';
    });
    await daemon.ok('POST', `${base}/snapshots`, { name: 'seen', source: { volume: 'copied' } });
    await daemon.ok('POST', '/v1/admin/registries', { name: 'seen', registry: 'example.com' });
    await eventually('everything to settle', async () => {
      const instance = await daemon.rest('GET', `${base}/instances/seen-0`);
      const snapshot = await daemon.ok('GET', `${base}/snapshots/seen`);
      return instance.body.status === 'Running' && snapshot.status === 'Ready';
    });
  });
  after(async () => {
    client[Symbol.dispose]();
    await daemon.dispose();
  });

  /** Objects of a watch up to the message that ends the initial state. */
  async function watchedOverGrpc(id: string): Promise<Shown> {
    const stop = new AbortController();
    const objects: unknown[] = [];
    for await (const { events = [] } of client.stream(id, all, stop.signal)) {
      const some = events as readonly { readonly object?: JsonObject }[];
      if (some.length === 0) break;
      objects.push(...some.map(({ object }) => object ?? {}));
    }
    stop.abort();
    return shown(objects);
  }

  async function watchedOverRest(path: string): Promise<Shown> {
    const events = await daemon.events(`${path}?watch=true`, undefined, (seen) =>
      seen.some(({ event }) => event === 'BOOKMARK'),
    );
    return shown(events.filter(({ event }) => event === 'ADDED').map(({ data }) => data.object));
  }

  for (const kind of allKinds) {
    const of = (verb: 'List' | 'Watch') =>
      methods.find((m) => m.standard?.verb === verb && m.standard.kind.kind === kind.kind);
    it(`is the list of ${kind.plural}, over gRPC and over REST`, async () => {
      const listing = of('List');
      const watching = of('Watch');
      if (!listing?.route || !watching) throw new Error(`${kind.plural} can't be watched`);
      const path = listing.route.path.replace('{namespace}', '-');
      // Repeated until there was no write in between, such as a heartbeat.
      await eventually(`four answers of one state of ${kind.plural}`, async () => {
        const lists = async (): Promise<Shown[]> => [
          shown((await client.call(listing.id, all)).items as unknown[]),
          shown(await daemon.list(path)),
        ];
        const [grpcBefore, restBefore] = await lists();
        const answers = [await watchedOverGrpc(watching.id), await watchedOverRest(path)];
        const [grpcAfter, restAfter] = await lists();
        if (JSON.stringify([grpcBefore, restBefore]) !== JSON.stringify([grpcAfter, restAfter]))
          return false;
        expect(Object.keys(grpcBefore ?? {})).to.not.be.empty;
        expect(answers).to.deep.equal([grpcBefore, restBefore]);
        return true;
      });
    });
  }
});
