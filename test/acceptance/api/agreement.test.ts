import { expect } from 'chai';
import fc from 'fast-check';
import { StatusError, statusCodes } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { allKinds } from '@kedge/controllers/kinds';
import { type KedgeClient, kedgeClient } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

/** The outcome of a request without the parts that must differ: namespace, versions, times. */
interface Outcome {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly answer: unknown;
}

type Verb = 'Create' | 'Update' | 'Get' | 'Delete' | 'List';
interface Step {
  readonly verb: Verb;
  readonly kind: 'Configmap' | 'Secret' | 'Volume' | 'Service';
  readonly name: string;
  readonly object: JsonObject;
  readonly dryRun: boolean;
  /** The version in the request: none, that of the stored object, or another one. */
  readonly version: 'none' | 'right' | 'wrong';
  readonly query: JsonObject;
}

const names = fc.constantFrom('a', 'b', 'UPPER', 'a'.repeat(64), '', '../x', 'ä');
const texts = fc.constantFrom(
  '',
  'x',
  '1Gi',
  '-1',
  '0',
  '2^63',
  '9223372036854775808',
  '\0',
  '/etc',
);
const data = fc.dictionary(fc.constantFrom('k', 'a b', '', 'z'.repeat(254)), fc.string());
const objects: Readonly<Record<Step['kind'], fc.Arbitrary<JsonObject>>> = {
  Configmap: fc.record({ data, labels: fc.dictionary(fc.string(), fc.string()) }),
  Secret: fc.record({ data }),
  Volume: fc.record(
    {
      size: fc.oneof(texts, fc.constant('1Mi')),
      accessMode: fc.constantFrom('ReadWriteOnce', 'ReadWriteMany', 'ReadOnlyMany'),
      storageClassName: fc.constantFrom('local', 'none', ''),
      reclaimPolicy: fc.constantFrom('retain', 'delete'),
      parameters: fc.dictionary(fc.constantFrom('hostPath', 'backing', 'x'), texts),
      status: fc.constantFrom('Bound', 'Failed'),
    },
    { requiredKeys: [] },
  ),
  Service: fc.record(
    {
      image: fc.constantFrom('', 'busybox'),
      runtime: fc.constantFrom('process', 'container'),
      scale: fc.constantFrom(0, 1, -1, 1001),
      command: fc.array(texts, { maxLength: 2 }),
      volumes: fc.array(
        fc.record({
          name: fc.constantFrom('v', ''),
          mountPath: fc.constantFrom('/data', '/proc/x', 'relative', '/a/../b'),
          claim: fc.record({ name: fc.constantFrom('a', 'b.other.svc', '??') }),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  ),
};
const steps = fc.constantFrom('Configmap', 'Secret', 'Volume', 'Service').chain((kind) =>
  fc.record({
    verb: fc.constantFrom<Verb[]>('Create', 'Create', 'Update', 'Get', 'Delete', 'List'),
    kind: fc.constant(kind),
    name: names,
    object: objects[kind],
    dryRun: fc.boolean(),
    version: fc.constantFrom('none', 'right', 'wrong'),
    query: fc.record(
      {
        limit: fc.constantFrom(-1, 0, 1),
        labelSelector: fc.constantFrom('a=b', '((', ''),
        fieldSelector: fc.constantFrom('name=a', '=='),
        pageToken: fc.constantFrom('', 'nonsense'),
      },
      { requiredKeys: [] },
    ),
  }),
) as fc.Arbitrary<Step>;

describe('gRPC and REST', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let client: KedgeClient;
  before(async () => {
    daemon = await TestDaemon.start();
    client = kedgeClient({ server: daemon.grpcAddress, token: daemon.token });
  });
  after(async () => {
    client.close();
    await daemon.dispose();
  });

  /** An answer without metadata and status fields, which the server and controllers write. */
  function plain(kind: Step['kind'], answer: JsonObject, namespace: string): unknown {
    const { statusFields = [] } = allKinds.find((k) => k.kind === kind) ?? {};
    const one = (object: JsonObject): JsonObject =>
      Object.fromEntries(
        Object.entries(object).filter(
          ([field]) => field !== 'metadata' && !statusFields.includes(field),
        ),
      );
    const text = JSON.stringify(
      Array.isArray(answer.items)
        ? { items: (answer.items as readonly JsonObject[]).map(one) }
        : one(answer),
    );
    return JSON.parse(text.replaceAll(`"${namespace}"`, '"NS"')) as unknown;
  }
  const normalize = (message: string, namespace: string): string =>
    message.replaceAll(namespace, 'NS').replaceAll(/resourceVersion \d+/g, 'resourceVersion N');
  const versionOf = async (kind: string, namespace: string, name: string): Promise<string> => {
    const object = await client.api.call(`${kind}Service.Get`, { namespace, name }).then(
      (found) => found,
      () => undefined,
    );
    const { resourceVersion = '' } = (object?.metadata ?? {}) as { resourceVersion?: string };
    return resourceVersion;
  };

  async function body(step: Step, namespace: string): Promise<JsonObject> {
    const version =
      step.version === 'none'
        ? ''
        : step.version === 'wrong'
          ? '1'
          : await versionOf(step.kind, namespace, step.name);
    const metadata = version === '' ? {} : { metadata: { resourceVersion: version } };
    return { name: step.name, ...step.object, ...metadata };
  }

  async function overGrpc(step: Step, namespace: string): Promise<Outcome> {
    const { verb, kind, name, dryRun } = step;
    const field = kind.toLowerCase();
    const request: JsonObject =
      verb === 'List'
        ? { namespace, ...step.query }
        : verb === 'Get'
          ? { namespace, name }
          : verb === 'Delete'
            ? { namespace, name, dryRun }
            : { namespace, name, dryRun, [field]: await body(step, namespace) };
    try {
      const answer = await client.api.call(`${kind}Service.${verb}`, request);
      return { code: 0, reason: '', message: '', answer: plain(kind, answer, namespace) };
    } catch (thrown) {
      const error = StatusError.from(thrown);
      const { reason, message } = error;
      const code = statusCodes[error.code];
      return { code, reason, message: normalize(message, namespace), answer: undefined };
    }
  }

  async function overRest(step: Step, namespace: string): Promise<Outcome> {
    const { verb, kind, name, dryRun } = step;
    const all = `/v1/namespaces/${namespace}/${kind.toLowerCase()}s`;
    const one = `${all}/${encodeURIComponent(name)}`;
    const dry = dryRun ? '?dryRun=true' : '';
    const query = new URLSearchParams(
      Object.entries(step.query).map(([key, value]): [string, string] => [key, String(value)]),
    );
    const answer =
      verb === 'List'
        ? await daemon.rest('GET', `${all}?${query.toString()}`)
        : verb === 'Get'
          ? await daemon.rest('GET', one)
          : verb === 'Delete'
            ? await daemon.rest('DELETE', `${one}${dry}`)
            : verb === 'Create'
              ? await daemon.rest('POST', `${all}${dry}`, await body(step, namespace))
              : await daemon.rest('PUT', `${one}${dry}`, await body(step, namespace));
    if (answer.status === 200)
      return { code: 0, reason: '', message: '', answer: plain(kind, answer.body, namespace) };
    const { code, reason, message } = answer.body as {
      code: number;
      reason: string;
      message: string;
    };
    return { code, reason, message: normalize(message, namespace), answer: undefined };
  }

  it('agree on the outcome, the code, the reason, the message and the object of random requests', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 25 }), async (all) => {
        run += 1;
        const [grpc, rest] = [`grpc-${run}`, `rest-${run}`];
        for (const name of [grpc, rest]) await daemon.ok('POST', '/v1/namespaces', { name });
        for (const step of all) {
          // A path without a name is another path, so REST can't express that.
          if (step.name === '' && step.verb !== 'Create' && step.verb !== 'List') continue;
          const [first, second] = [await overGrpc(step, grpc), await overRest(step, rest)];
          expect(first, JSON.stringify(step)).to.deep.equal(second);
        }
      }),
      { numRuns: Number(process.env.KEDGE_AGREEMENT_RUNS ?? 40) },
    );
  });
});
