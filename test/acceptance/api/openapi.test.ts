import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { type Answer, TestDaemon } from '../daemon.js';

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Objects on which every route can be tested. */
const fixtures: Readonly<Record<string, object>> = {
  namespaces: { name: 'fix' },
  storageclasses: { name: 'fix', driver: 'local' },
  volumes: { name: 'fix', size: '1Mi', accessMode: 'ReadWriteOnce', storageClassName: 'local' },
  snapshots: { name: 'fix', source: { volume: 'fix' } },
  services: { name: 'fix', image: 'busybox', scale: 1 },
  secrets: { name: 'fix', data: { k: 'v' } },
  configmaps: { name: 'fix', data: { k: 'v' } },
  events: {
    name: 'fix',
    regarding: { kind: 'Volume', name: 'fix' },
    type: 'Normal',
    reason: 'Noted',
  },
  nodes: { name: 'fix' },
  users: { name: 'fix' },
  policies: { name: 'fix', rules: [{ resources: ['volumes'], verbs: ['get'], namespaces: ['x'] }] },
  registries: { name: 'fix', registry: 'r.example.com', auth: { type: 'token', token: 't' } },
  tokens: { subject: 'fix' },
};
/** Bodies and statuses of routes without a pattern. */
const custom: Readonly<Record<string, { readonly body?: object; readonly status: number }>> = {
  AdminService_Bootstrap: { body: {}, status: 412 },
  AdminService_AttachPolicy: { body: { policy: 'readonly' }, status: 200 },
  AdminService_DetachPolicy: { body: { policy: 'readonly' }, status: 200 },
  AdminService_RotateKeys: { body: {}, status: 200 },
  AdminService_AdoptStorageRoot: { body: { path: '/nowhere' }, status: 412 },
  AdminService_FindOrphans: { status: 200 },
  AdminService_Backup: { body: {}, status: 200 },
  AuthService_CanI: { status: 200 },
  CastService_Cast: {
    body: { objects: [{ kind: 'Configmap', object: { name: 'cast' } }], dryRun: true },
    status: 200,
  },
  ExecService_Run: { body: { command: ['true'] }, status: 412 },
  // Node fix is not the node of this daemon.
  ImageService_List: { status: 412 },
  ImageService_Prune: { body: {}, status: 412 },
  InstanceService_Restart: { body: {}, status: 200 },
  ServiceService_Restart: { body: {}, status: 200 },
  ServiceService_Scale: { body: { scale: 1 }, status: 200 },
  SnapshotService_Restore: { body: { volume: { name: 'restored' } }, status: 200 },
  SnapshotService_Retry: { body: {}, status: 412 },
  StorageClassService_Check: { body: {}, status: 200 },
  StorageClassService_SetDefault: { body: {}, status: 200 },
  VolumeService_Import: {
    body: { name: 'imported', storageClassName: 'local', handle: 'absent' },
    status: 404,
  },
  VolumeService_Resize: { body: { size: '1Mi' }, status: 200 },
  VolumeService_RetryProvision: { body: {}, status: 412 },
  VolumeService_Detach: { body: {}, status: 200 },
  VolumeService_Reuse: { body: {}, status: 412 },
};
const standard = /_(Get|List|Create|Update|UpdateStatus|Delete|Watch|Describe|WhoAmI)\w*$/;

describe('the OpenAPI document and the server', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let document: Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

  before(async () => {
    daemon = await TestDaemon.start();
    document = (await daemon.ok('GET', '/v1/openapi.json')) as unknown as Document;
    ajv.addSchema({ ...document, $id: 'api' });
  });
  after(() => daemon.dispose());

  const operations = (): { path: string; method: string; operation: Operation }[] =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
  /** The plural of a path. */
  const pluralOf = (path: string): string =>
    path
      .replace(/^\/v1\/(admin|auth)\//, '/v1/')
      .replace(/^\/v1\/(namespaces\/\{namespace\}\/)?/, '')
      .split(/[/:]/)[0] ?? '';

  const requireSchema = (answer: Answer, operation: Operation, label: string): void => {
    const ok = answer.status === 200;
    const pointer = ok ? '200' : 'default';
    const schema = operation.responses[pointer]?.content?.['application/json']?.schema as
      | { $ref: string }
      | undefined;
    if (!schema) throw new Error(`${label}: no schema for ${answer.status}`);
    const validate = ajv.getSchema(`api${schema.$ref}`);
    expect(validate, schema.$ref).to.be.a('function');
    expect(validate!(answer.body), `${label}: ${JSON.stringify(validate!.errors)}`).to.equal(true);
  };

  it('is a valid OpenAPI 3.1 document, and needs a token', async () => {
    const result = await new Validator().validate(structuredClone(document) as never);
    expect(result.errors ?? [], JSON.stringify(result.errors)).to.deep.equal([]);
    expect((await daemon.rest('GET', '/v1/openapi.json', undefined, null)).status).to.equal(401);
  });

  it('has a description of every operation', () => {
    for (const { path, method, operation } of operations())
      expect(operation, `${method} ${path}`).to.have.property('description');
  });

  it('every route answers valid requests as documented, in the order of a life cycle', async () => {
    const names: Record<string, string> = {
      instances: 'fix-0',
      logs: 'fix-0',
      exec: 'fix-0',
      health: 'fix',
    };
    const at = (path: string): string => {
      const plural = pluralOf(path);
      return path
        .replace('{namespace}', 'default')
        .replace('{name}', names[plural] ?? 'fix')
        .replace('{node}', 'fix');
    };
    const order = ['post', 'get', 'put', 'delete'];
    const creations = Object.keys(fixtures);
    const rank = (path: string, method: string, id: string): number => {
      const plain = /_Create\w*$/.test(id);
      if (plain) return creations.indexOf(pluralOf(path));
      // Restarts run while there are instances. Deletions run last and in reverse order.
      if (id === 'InstanceService_Delete') return 400;
      if (method === 'delete') return 1_000 - creations.indexOf(pluralOf(path));
      return 100 + order.indexOf(method) + (id.includes('Restart') ? 100 : 0);
    };
    const sorted = operations().sort(
      (a, b) =>
        rank(a.path, a.method, a.operation.operationId) -
        rank(b.path, b.method, b.operation.operationId),
    );
    let created = false;
    for (const { path, method, operation } of sorted) {
      const id = operation.operationId;
      const label = `${id} ${method} ${path}`;
      const plural = pluralOf(path);
      const expected = custom[id];
      if (!expected && !standard.test(id)) throw new Error(`no request known for ${label}`);
      if (!/_Create\w*$/.test(id) && !created) {
        created = true;
        await eventually('the fixtures to settle', async () => {
          const states = await Promise.all(
            ['volumes/fix', 'snapshots/fix', 'instances/fix-0'].map((o) =>
              daemon.rest('GET', `/v1/namespaces/default/${o}`),
            ),
          );
          return (
            states[0]!.body.status === 'Available' &&
            states[1]!.body.status === 'Ready' &&
            states[2]!.status === 200
          );
        });
      }
      const json = operation.responses['200']?.content?.['application/json'];
      if (!json && !expected) continue; // streams: below
      let body: object | undefined = expected?.body;
      if (!expected && operation.requestBody) {
        const fixture = { ...fixtures[plural] };
        // A status write takes the whole object.
        body = method === 'put' && plural === 'instances' ? { name: 'fix-0' } : fixture;
        if (method === 'put' && plural === 'nodes') body = { name: 'fix', status: 'NotReady' };
      }
      const query = id === 'AuthService_CanI' ? '?verb=get&resource=volumes' : '';
      const call = () => daemon.rest(method.toUpperCase(), `${at(path)}${query}`, body);
      const wanted = expected?.status ?? 200;
      // Between a restart and the next instance there is briefly none.
      const answer =
        plural === 'instances'
          ? await eventually(`${label} to find the instance`, async () => {
              const answered = await call();
              return answered.status === 404 ? undefined : answered;
            })
          : await call();
      if (plural === 'tokens' && method === 'post') names.tokens = String(answer.body.name);
      expect(answer.status, `${label}: ${JSON.stringify(answer.body)}`).to.equal(wanted);
      if (json || wanted !== 200) requireSchema(answer, operation, label);
    }
  });

  it('each stream that GET opens has a documented content type', async () => {
    const streams = operations().filter(
      ({ operation }) => !operation.responses['200']?.content?.['application/json'],
    );
    expect(streams.length).to.be.at.least(10);
    for (const { path, method, operation } of streams.filter((s) => s.method === 'get')) {
      const at = path.replace('{namespace}', 'default').replace('{name}', 'missing');
      const stop = new AbortController();
      const response = await fetch(`http://${daemon.restAddress}${at}`, {
        method,
        signal: stop.signal,
        headers: { authorization: `Bearer ${daemon.token}` },
      });
      const types = Object.keys(operation.responses['200']?.content ?? {});
      const type = response.headers.get('content-type')?.split(';')[0];
      if (response.status === 200) expect(types, path).to.include(type);
      else expect(response.status, path).to.equal(404);
      stop.abort();
    }
  });

  it('undocumented requests are refused with the documented error body: unknown parameters, fields and types', async () => {
    for (const { path, method, operation } of operations()) {
      const label = `${method} ${path}`;
      const at = path.replace('{namespace}', 'default').replace('{name}', 'missing');
      if (operation.operationId === 'AdminService_Bootstrap') continue;
      const body = operation.requestBody ? {} : undefined;
      const query = await daemon.rest(method.toUpperCase(), `${at}?colour=red`, body);
      expect(query.status, label).to.equal(400);
      requireSchema(query, operation, label);
      if (!operation.requestBody) continue;
      const field = await daemon.rest(method.toUpperCase(), at, { colour: 'red' });
      // An update may first report that the object does not exist.
      const least = /UpdateStatus|_Update/.test(operation.operationId) ? [400, 404] : [400];
      expect(least, `${label}: ${JSON.stringify(field.body)}`).to.include(field.status);
      requireSchema(field, operation, label);
      for (const wrong of [[], 'text', 7]) {
        const answer = await daemon.rest(method.toUpperCase(), at, wrong);
        expect(answer.status, `${label} ${JSON.stringify(wrong)}`).to.equal(400);
      }
    }
  });
});
