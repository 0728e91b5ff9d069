import { descriptorSet } from '@kedge/api';
import { expect } from 'chai';
import { StatusError } from 'kedge';
import { ApiClient } from 'kedge/client';
import { baseDescriptors, SchemaRegistry } from 'kedge/rpc';
import { TestDaemon } from '../daemon.js';

type JsonObject = Readonly<Record<string, unknown>>;

const base = '/v1/namespaces/default';
const right = 'the-stored-value';
const wrong = 'another-one-4711';
const mask = '********';

/** A kind with a hidden value, and an object of it with that value. */
interface Hidden {
  readonly kind: string;
  readonly path: string;
  /** The field in the messages of the kind's own service. */
  readonly field: string;
  object(name: string, value: string): JsonObject;
}

const hidden: readonly Hidden[] = [
  {
    kind: 'Secret',
    path: `${base}/secrets`,
    field: 'secret',
    object: (name, value) => ({ name, data: { k: value, other: mask } }),
  },
  {
    kind: 'Registry',
    path: '/v1/admin/registries',
    field: 'registry',
    object: (name, value) => ({
      name,
      registry: 'r.example.com',
      auth: { type: 'basic', username: 'u', password: value },
    }),
  },
  {
    kind: 'StorageClass',
    path: '/v1/storageclasses',
    field: 'storageClass',
    object: (name, value) => ({
      name,
      driver: 'cloud1-volume',
      parameters: { region: 'x', apiToken: value },
    }),
  },
  {
    kind: 'Volume',
    path: `${base}/volumes`,
    field: 'volume',
    object: (name, value) => ({
      name,
      storageClassName: 'cloud',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      // The reference has no target, so no provider is called.
      parameters: { region: 'secret:none/k', apiToken: value },
    }),
  },
  {
    kind: 'Service',
    path: `${base}/services`,
    field: 'service',
    object: (name, value) => ({
      name,
      image: 'x',
      scale: 0,
      volumes: [
        {
          name: 'data',
          mountPath: '/data',
          claimTemplate: {
            size: '1Gi',
            accessMode: 'ReadWriteOnce',
            storageClassName: 'cloud',
            parameters: { apiToken: value },
          },
        },
      ],
    }),
  },
];

/** Fields that controllers write meanwhile. */
const written =
  /^(status|reason|attempts|failureMessage|conditions|lastOperation|\w+Instances|observedGeneration)$/;

describe('guesses of hidden values', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let token: string;
  const clients: ApiClient[] = [];
  const clientOf = (descriptors: string, packageName: string): ApiClient => {
    const schemas = new SchemaRegistry(descriptors);
    const client = new ApiClient({ server: daemon.grpcAddress, token, schemas, packageName });
    clients.push(client);
    return client;
  };
  let generic: ApiClient;
  let own: ApiClient;
  before(async () => {
    daemon = await TestDaemon.start();
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'cloud',
      driver: 'cloud1-volume',
      parameters: { region: 'x', apiToken: 'class-token' },
    });
    await daemon.ok('POST', '/v1/admin/users', { name: 'writer', policies: ['admin'] });
    token = String((await daemon.ok('POST', '/v1/auth/tokens', { subject: 'writer' })).token);
    generic = clientOf(baseDescriptors, 'kedge');
    own = clientOf(descriptorSet, 'api');
  });
  after(async () => {
    for (const client of clients) client.close();
    await daemon.dispose();
  });

  interface Attempt {
    readonly of: Hidden;
    readonly name: string;
    readonly guess: string;
    readonly before: JsonObject;
  }
  const rest = (method: string, path: string, body?: unknown) =>
    daemon.rest(method, path, body, token);
  const guessed = ({ of, name, guess }: Attempt): JsonObject => of.object(name, guess);
  const metadataOf = ({ before }: Attempt) =>
    before.metadata as { readonly uid: string; readonly generation: number };
  const operation = (attempt: Attempt, rest: JsonObject): JsonObject => ({
    kind: attempt.of.kind,
    namespace: 'default',
    name: attempt.name,
    ...rest,
  });
  const overwrite = (attempt: Attempt): JsonObject =>
    operation(attempt, { type: 'OVERWRITE', object: JSON.stringify(guessed(attempt)) });
  const checkOf = (attempt: Attempt, field: string, value: unknown): JsonObject =>
    operation(attempt, {
      type: 'CHECK',
      precondition: { fields: { [field]: JSON.stringify(value) } },
    });
  const transact = (...operations: readonly JsonObject[]) =>
    generic.call('ObjectService.Transact', { operations });
  const cast = (attempt: Attempt, dryRun: boolean) =>
    rest('POST', '/v1/cast', {
      objects: [{ kind: attempt.of.kind, object: guessed(attempt) }],
      dryRun,
    });
  const update = (attempt: Attempt, more: JsonObject) =>
    own.call(`${attempt.of.kind}Service.Update`, {
      namespace: 'default',
      name: attempt.name,
      [attempt.of.field]: guessed(attempt),
      ...more,
    });

  const paths: Readonly<Record<string, (attempt: Attempt) => Promise<unknown>>> = {
    PUT: (attempt) => rest('PUT', `${attempt.of.path}/${attempt.name}`, guessed(attempt)),
    'PUT as a dry run': (attempt) =>
      rest('PUT', `${attempt.of.path}/${attempt.name}?dryRun=true`, guessed(attempt)),
    'PUT of a stale version': (attempt) =>
      rest('PUT', `${attempt.of.path}/${attempt.name}`, {
        ...guessed(attempt),
        metadata: { resourceVersion: '1' },
      }),
    'Update over gRPC': (attempt) => update(attempt, {}),
    'Update over gRPC as a dry run': (attempt) => update(attempt, { dryRun: true }),
    cast: (attempt) => cast(attempt, false),
    'cast as a dry run': (attempt) => cast(attempt, true),
    'a transaction': (attempt) => transact(overwrite(attempt)),
    'a transaction that checks the generation it leaves': (attempt) =>
      transact(
        overwrite(attempt),
        checkOf(attempt, 'metadata.generation', metadataOf(attempt).generation),
      ),
    'a transaction that checks the next generation': (attempt) =>
      transact(
        overwrite(attempt),
        checkOf(attempt, 'metadata.generation', metadataOf(attempt).generation + 1),
      ),
    'a check of the value': (attempt) =>
      transact(checkOf(attempt, 'data.k', attempt.guess), checkOf(attempt, 'name', attempt.name)),
  };

  /** The answer without random values, times and positions of the store. */
  function comparable(value: unknown, { name, guess }: Attempt): string {
    const own = (key: string, inner: unknown): unknown => {
      if (written.test(key)) return undefined;
      const text = key === 'object' && typeof inner === 'string' && inner.startsWith('{');
      return text ? (JSON.parse(inner) as unknown) : inner;
    };
    return JSON.stringify(value, own)
      .replaceAll(name, 'it')
      .replaceAll(guess, 'guess')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'uuid')
      .replaceAll(/\d{4}-\d\d-\d\dT[0-9:.]+Z/g, 'time')
      .replaceAll(/("resourceVersion":"|"cursor":")[\w.-]+/g, '$1position')
      .replaceAll(/resourceVersion 1 given, \d+ stored/g, 'another version');
  }

  for (const of of hidden)
    for (const [path, attack] of Object.entries(paths))
      it(`a right and a wrong guess have the same outcome: ${of.kind}, ${path}`, async () => {
        const outcomes: string[] = [];
        for (const guess of [right, wrong]) {
          const name = `g${guess.length}-${Object.keys(paths).indexOf(path)}${guess === right ? 'r' : 'w'}`;
          const made = of.object(name, right);
          const data = of.kind === 'Secret' ? { data: { k: right, other: 'untouched' } } : {};
          await daemon.ok('POST', of.path, { ...made, ...data });
          const { body: before } = await rest('GET', `${of.path}/${name}`);
          const attempt = { of, name, guess, before };
          const answer = await attack(attempt).catch((error: unknown) => {
            const { code, reason, message, violations } = StatusError.from(error);
            return { code, reason, message, violations };
          });
          const { body: after } = await rest('GET', `${of.path}/${name}`);
          outcomes.push(comparable({ answer, after }, attempt));
        }
        expect(outcomes[0]).to.equal(outcomes[1]);
      });

  for (const of of hidden)
    it(`a mask in a ${of.kind} keeps the stored value, and the value itself is a change`, async () => {
      const name = 'masked';
      await daemon.ok('POST', of.path, {
        ...of.object(name, right),
        ...(of.kind === 'Secret' ? { data: { k: right } } : {}),
      });
      const put = async (value: string, as: string): Promise<number> => {
        const body = of.kind === 'Secret' ? { name, data: { k: value } } : of.object(name, value);
        const answer = await daemon.rest('PUT', `${of.path}/${name}`, body, as);
        expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
        return (answer.body.metadata as { readonly generation: number }).generation;
      };
      expect(await put(mask, token)).to.equal(1);
      // The caller has the right to reveal the value.
      expect(await put(right, daemon.token)).to.equal(1);
      expect(await put(right, token)).to.equal(2);
      expect(await put(mask, token)).to.equal(2);
      expect(await put(right, daemon.token)).to.equal(2);
    });

  it('a cast without a right has the same refusal, whether or not the object exists', async () => {
    await daemon.ok('POST', '/v1/admin/users', { name: 'powerless', policies: [] });
    const { token: weak } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'powerless' });
    await daemon.ok('POST', `${base}/secrets`, { name: 'there', data: { k: right } });
    for (const dryRun of [true, false]) {
      const [there, missing] = await Promise.all(
        ['there', 'gone!'].map(async (name) => {
          const objects = [{ kind: 'Secret', object: { name, data: { k: 'x' } } }];
          const answer = await daemon.rest('POST', '/v1/cast', { objects, dryRun }, String(weak));
          return JSON.stringify([answer.status, { ...answer.body, requestId: '' }]);
        }),
      );
      expect(there).to.equal(missing);
      expect(there).to.contain('PermissionDenied');
    }
  });
});
