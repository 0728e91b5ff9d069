import { expect } from 'chai';
import { leases, statusCodes, StatusError } from 'kedge';
import { ApiClient, RemoteStore } from 'kedge/client';
import { baseDescriptors, SchemaRegistry } from 'kedge/rpc';
import { httpStatuses } from 'kedge/server';
import { eventually } from 'kedge/testing';
import { TestDaemon, workload } from '../daemon.js';

type JsonObject = Readonly<Record<string, unknown>>;

const cluster = {
  Namespace: '/v1/namespaces',
  StorageClass: '/v1/storageclasses',
  Node: '/v1/nodes',
  User: '/v1/admin/users',
  Policy: '/v1/admin/policies',
  Registry: '/v1/admin/registries',
  Token: '/v1/auth/tokens',
} as const;
const base = '/v1/namespaces/default';
const namespaced = {
  Service: `${base}/services`,
  Instance: `${base}/instances`,
  Volume: `${base}/volumes`,
  Snapshot: `${base}/snapshots`,
  Secret: `${base}/secrets`,
  Configmap: `${base}/configmaps`,
  Event: `${base}/events`,
} as const;
const kinds: Readonly<Record<string, string>> = { ...cluster, ...namespaced };

describe('the object service of a running daemon', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  const tokens: Record<string, string> = {};
  const clients = new Map<string, ApiClient>();
  const schemas = new SchemaRegistry(baseDescriptors);

  before(async () => {
    daemon = await TestDaemon.start();
    tokens.root = daemon.token;
    const [node] = await daemon.list('/v1/nodes');
    const account = async (name: string, policies: readonly string[], more: object = {}) => {
      await daemon.ok('POST', '/v1/admin/users', { name, policies, ...more });
      const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: name });
      tokens[name] = String(token);
    };
    const agent = { kind: 'serviceAccount' };
    await account('nothing', []);
    await account('reader', ['readonly']);
    await account('writer', ['readwrite']);
    await account('own-agent', ['node'], { ...agent, node: String(node?.name) });
    await account('other-agent', ['node'], { ...agent, node: 'elsewhere' });
    for (const name of ['used', 'unused'])
      await daemon.ok('POST', `${base}/secrets`, { name, data: { k: 'sesame' } });
    const { volume, service } = workload(daemon, 'bound', 'sleep 600');
    await daemon.ok('POST', `${base}/volumes`, volume);
    // On no node and not provisioned, since its parameters have no target.
    const nowhere = { hostPath: 'secret:none/path' };
    await daemon.ok('POST', `${base}/volumes`, { ...volume, name: 'foreign', parameters: nowhere });
    await daemon.ok('POST', `${base}/services`, { ...service, envFrom: [{ secret: 'used' }] });
    await eventually('the instance', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/bound-0`);
      return body.status === 'Running';
    });
  });
  after(async () => {
    for (const client of clients.values()) client.close();
    await daemon.dispose();
  });

  function call(subject: string, method: string, request: JsonObject): Promise<JsonObject> {
    let client = clients.get(subject);
    if (!client) {
      const token = tokens[subject] ?? '';
      const server = daemon.grpcAddress;
      client = new ApiClient({ server, token, schemas, packageName: 'kedge' });
      clients.set(subject, client);
    }
    return client.call(`ObjectService.${method}`, request);
  }
  /** The status in REST's form, and the answer. */
  async function asked(
    subject: string,
    method: string,
    request: JsonObject,
  ): Promise<{ readonly status: number; readonly answer: JsonObject }> {
    try {
      const answer = await call(subject, method, request);
      // Over REST a missing object is a refusal.
      const missing = method === 'Get' && answer.object === '';
      return { status: missing ? 404 : 200, answer };
    } catch (error) {
      return { status: httpStatuses[StatusError.from(error).code], answer: {} };
    }
  }
  const subjects = ['root', 'nothing', 'reader', 'writer', 'own-agent', 'other-agent'];
  const objectsOf = (answer: JsonObject): readonly string[] =>
    ((answer.objects ?? []) as readonly string[]).map(
      (text) => (JSON.parse(text) as { name: string }).name,
    );

  for (const subject of subjects)
    it(`shows "${subject}" the same objects of each kind as REST`, async () => {
      for (const [kind, path] of Object.entries(kinds)) {
        const rest = await daemon.rest('GET', path, undefined, tokens[subject]);
        const list = await asked(subject, 'List', { kind, namespace: 'default' });
        expect(list.status, `list of ${kind}`).to.equal(rest.status);
        const items = (rest.body.items ?? []) as readonly { readonly name: string }[];
        if (kind !== 'Event')
          expect(objectsOf(list.answer), `list of ${kind}`).to.deep.equal(
            items.map(({ name }) => name),
          );
        const all = await daemon.list(path);
        for (const { name } of all.slice(0, 6) as unknown as readonly { name: string }[])
          for (const reveal of [false, true]) {
            const query = reveal ? '?reveal=true' : '';
            const one = await daemon.rest(
              'GET',
              `${path}/${name}${query}`,
              undefined,
              tokens[subject],
            );
            // A method without such an option refuses it over REST.
            if (one.status === 400) continue;
            const got = await asked(subject, 'Get', { kind, namespace: 'default', name, reveal });
            expect(got.status, `get of ${kind} ${name}${query}`).to.equal(one.status);
            if (got.status !== 200 || kind === 'Event') continue;
            const object = JSON.parse(String(got.answer.object)) as { metadata: { uid: string } };
            expect(object.metadata.uid).to.equal((one.body.metadata as { uid: string }).uid);
            expect(Object.keys(object), `fields of ${kind}`).to.have.members(Object.keys(one.body));
          }
      }
    });

  it('lets an agent write only objects of its node, whatever else the transaction contains', async () => {
    const [node] = await daemon.list('/v1/nodes');
    const name = String(node?.name);
    const status = { type: 'UPDATE_STATUS', kind: 'Node', name, object: '{"status":"Ready"}' };
    const transact = async (subject: string, ...operations: readonly JsonObject[]) =>
      (await asked(subject, 'Transact', { operations })).status;
    expect(await transact('own-agent', status)).to.equal(200);
    expect(await transact('other-agent', status)).to.equal(403);
    const where = { namespace: 'default' };
    const volume = { ...where, kind: 'Volume', name: 'bound' };
    const foreign = { ...where, kind: 'Volume', name: 'foreign' };
    const secret = { ...where, kind: 'Secret', name: 'unused' };
    for (const operation of [
      { ...volume, type: 'DELETE_BY_NAME' },
      { ...volume, type: 'OVERWRITE', object: '{"size":"2Gi"}' },
      { ...foreign, type: 'UPDATE_STATUS', object: '{"status":"Bound"}' },
      { ...foreign, type: 'CHECK', precondition: { fields: { status: '"Bound"' } } },
      { ...secret, type: 'CHECK', precondition: { fields: { name: '"unused"' } } },
      { ...where, type: 'CREATE', kind: 'Secret', name: 'mine', object: '{"data":{}}' },
      { type: 'CREATE', kind: 'Lease', name: 'mine', object: '{}' },
      {
        type: 'CREATE',
        kind: 'ReconcileRecord',
        name: 'a:b',
        object: '{"controller":"a","key":"b"}',
      },
    ]) {
      const shown = JSON.stringify(operation);
      expect(await transact('own-agent', operation), shown).to.equal(403);
      expect(await transact('own-agent', status, operation), `with others, ${shown}`).to.equal(403);
    }
  });

  it('refuses writes that no single call permits: tokens, instances and facts of the installation', async () => {
    const codeOf = async (operation: JsonObject): Promise<string> =>
      call('root', 'Transact', { operations: [operation] }).then(
        () => 'OK',
        (error: unknown) => StatusError.from(error).code,
      );
    const token = { type: 'CREATE', kind: 'Token', name: 'a'.repeat(16) };
    expect(await codeOf({ ...token, object: '{"subject":"root"}' })).to.equal('Unimplemented');
    const instance = { type: 'CREATE', kind: 'Instance', namespace: 'default', name: 'x-0' };
    expect(await codeOf({ ...instance, object: '{"service":"x"}' })).to.equal('Unimplemented');
    const state = { type: 'DELETE_BY_NAME', kind: 'SystemState', name: 'bootstrapped' };
    expect(await codeOf(state)).to.equal('InvalidArgument');
    const [{ name } = { name: '' }] = (await daemon.list('/v1/auth/tokens')) as { name: string }[];
    const { object } = await call('root', 'Get', { kind: 'Token', name });
    expect(String(object)).to.contain(name);
    expect(String(object)).to.not.contain('secretHash');
  });

  it('writes only the finalizers of a kind whose service has no Update', async () => {
    const where = { kind: 'Instance', namespace: 'default', name: 'bound-0' };
    const codeOf = async (subject: string, object: JsonObject): Promise<string> =>
      call(subject, 'Transact', {
        operations: [{ ...where, type: 'OVERWRITE', object: JSON.stringify(object) }],
      }).then(
        () => 'OK',
        (error: unknown) => StatusError.from(error).code,
      );
    type Found = JsonObject & { readonly metadata: JsonObject };
    const stored = async (): Promise<Found> =>
      JSON.parse(String((await call('root', 'Get', where)).object)) as Found;
    const before = await stored();
    const { finalizers, ownerReferences } = before.metadata;
    for (const change of [
      { node: 'elsewhere' },
      { template: {} },
      { labels: { a: 'b' } },
      { metadata: { ownerReferences: [] } },
    ])
      expect(await codeOf('root', change), JSON.stringify(change)).to.equal('Unimplemented');
    expect(ownerReferences).to.have.length(1);
    const more = [...(finalizers as readonly string[]), 'test.io/more'];
    for (const subject of ['nothing', 'reader', 'writer', 'own-agent', 'other-agent'])
      expect(await codeOf(subject, { metadata: { finalizers: more } })).to.equal(
        'PermissionDenied',
      );
    const whole = { ...before, metadata: { ...before.metadata, finalizers: more } };
    expect(await codeOf('root', whole)).to.equal('OK');
    const { metadata, template } = await stored();
    expect([metadata.finalizers, template]).to.deep.equal([more, before.template]);
    expect(await codeOf('root', { metadata: { finalizers } })).to.equal('OK');
  });

  it('refuses a status field that the API does not have, by its name, and writes nothing', async () => {
    const where = { kind: 'Volume', namespace: 'default', name: 'foreign' };
    const object = JSON.stringify({ failureMessage: 'a test', failedWith: 'x', neverUsed: true });
    const refusal = await call('root', 'Transact', {
      operations: [{ ...where, type: 'UPDATE_STATUS', object }],
    }).then(
      () => undefined,
      (error: unknown) => StatusError.from(error),
    );
    expect(refusal?.code).to.equal('InvalidArgument');
    expect(refusal?.violations.map(({ field }) => field.split('.').at(-1))).to.have.members([
      'failedWith',
      'neverUsed',
    ]);
    const { object: after } = await call('root', 'Get', where);
    expect(String(after)).to.not.contain('a test');
  });

  it('never returns a masked value from a read or a transaction', async () => {
    const secret = { kind: 'Secret', namespace: 'default', name: 'used' };
    const { object } = await call('writer', 'Get', secret);
    const text = String(object);
    expect(text).to.not.contain('sesame').and.to.not.contain(btoa('sesame'));
    const answer = await call('writer', 'Transact', {
      operations: [{ ...secret, type: 'OVERWRITE', object: text }],
    });
    expect(JSON.stringify(answer)).to.not.contain('sesame').and.to.not.contain(btoa('sesame'));
    // The returned mask did not change the object.
    const kept = await daemon.ok('GET', `${base}/secrets/used?reveal=true`);
    expect((kept.data as JsonObject).k).to.equal('sesame');
  });

  it('ends a watch as soon as the right to it is revoked', async () => {
    const rules = [{ resources: ['volumes'], verbs: ['watch'], namespaces: ['default'] }];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'watcher', rules });
    await daemon.ok('POST', '/v1/admin/users', { name: 'watcher', policies: ['watcher'] });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'watcher' });
    tokens.watcher = String(token);
    expect((await asked('watcher', 'List', { kind: 'Volume' })).status).to.equal(403);
    const request = { kind: 'Volume', namespace: 'default' };
    const stop = new AbortController();
    const ended = (async () => {
      const client = clients.get('watcher')!;
      for await (const { cursor } of client.stream('ObjectService.Watch', request, stop.signal))
        if (cursor !== '')
          await daemon.ok('POST', '/v1/admin/users/watcher:detachPolicy', { policy: 'watcher' });
    })();
    const error = await ended.then(
      () => undefined,
      (thrown: unknown) => StatusError.from(thrown),
    );
    expect(error?.code).to.equal('PermissionDenied');
  });

  it('stores leases for a caller with the right to them, and not for readwrite', async () => {
    await using store = await RemoteStore.connect({
      server: daemon.grpcAddress,
      token: tokens.root ?? '',
    });
    const lease = {
      name: 'mine',
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      acquireTime: '',
      renewTime: '',
      leaseTransitions: 1,
    };
    const made = await store.create(leases, lease);
    expect((await store.get(leases, { name: 'mine' }))?.metadata.uid).to.equal(made.metadata.uid);
    await using poor = await RemoteStore.connect({
      server: daemon.grpcAddress,
      token: tokens.writer ?? '',
    });
    const refused = await poor.get(leases, { name: 'mine' }).then(
      () => 'OK',
      (error: unknown) => StatusError.from(error).code,
    );
    expect(refused).to.equal('PermissionDenied');
    expect(statusCodes[refused as 'PermissionDenied']).to.equal(7);
  });
});
