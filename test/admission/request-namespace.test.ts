import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { descriptorSet } from '@kedge/api';
import { allKinds } from '@kedge/controllers';
import type { ObjectKey } from 'kedge';
import { bodyField, type JsonObject, type MethodInfo, SchemaRegistry } from 'kedge/rpc';
import { methodTable } from 'kedge/server';
import { eventually } from 'kedge/testing';
import { ValidatedApi } from './validated-api.js';

const schemas = new SchemaRegistry(descriptorSet);
const hasText = ({ input }: MethodInfo, name: string): boolean =>
  input.fields.some((field) => field.name === name && field.fieldKind === 'scalar');
const isExec = ({ clientStreaming }: MethodInfo): boolean => clientStreaming;
/** Services whose requests have a namespace field, but act on objects of no namespace or on no object. */
const clusterWide = [
  'AuthService',
  // Images and requests to agents belong to a node.
  'ImageService',
  'AgentService',
  ...allKinds.filter(({ scope }) => scope === 'Cluster').map(({ kind }) => `${kind}Service`),
];
const isNamespaced = ({ id }: MethodInfo): boolean => !clusterWide.includes(id.split('.')[0] ?? '');
const methods = methodTable(schemas, 'api', allKinds).filter(
  (method) => (hasText(method, 'namespace') || isExec(method)) && isNamespaced(method),
);

function requestOf(method: MethodInfo, given: JsonObject): JsonObject {
  if (isExec(method)) return { start: { ...given, command: ['true'] } };
  const { standard } = method;
  const writes = standard && ['Create', 'Update', 'UpdateStatus'].includes(standard.verb);
  const body = writes ? { [bodyField(standard.kind)]: { name: 'thing' } } : {};
  const takesName = hasText(method, 'name');
  const runs = method.input.fields.some((field) => field.name === 'command');
  const { name, ...others } = given;
  return {
    ...others,
    ...body,
    ...(runs ? { command: ['true'] } : {}),
    ...(takesName && name !== undefined ? { name } : {}),
  };
}

describe('a request is parsed once: over gRPC, of every method with a namespace', () => {
  const authorized: (string | undefined)[] = [];
  const touched: Partial<ObjectKey>[] = [];
  let api: ValidatedApi;
  let client: Client;
  before(async () => {
    api = await ValidatedApi.start({
      authorizing: ({ namespace }) => authorized.push(namespace),
      touching: (key) => touched.push(key),
    });
    await api.ok('POST', '/v1/namespaces', { name: 'other' });
    client = new Client(api.grpcAddress, credentials.createInsecure());
  });
  after(async () => {
    client.close();
    await api[Symbol.asyncDispose]();
  });

  /** Resolves to the status, or to undefined once a stream has begun to act. */
  async function call(method: MethodInfo, request: JsonObject): Promise<status | undefined> {
    authorized.length = 0;
    touched.length = 0;
    const metadata = new Metadata();
    metadata.set('authorization', 'Bearer root');
    const raw = (bytes: Buffer): Buffer => bytes;
    const bytes = Buffer.from(schemas.encode(method.input, request));
    const stream = client.makeServerStreamRequest(method.grpcPath, raw, raw, bytes, metadata);
    let over: status | undefined;
    const ended = new Promise<void>((resolve) => {
      stream.on('data', () => undefined);
      stream.on('error', ({ code }: ServiceError) => {
        over = code;
        resolve();
      });
      stream.on('end', () => {
        over ??= status.OK;
        resolve();
      });
    });
    const acting = eventually('the call to act', () => over !== undefined || touched.length > 0);
    await (method.streaming ? acting : ended);
    stream.cancel();
    await ended;
    return over;
  }

  for (const method of methods)
    for (const namespace of [undefined, '', 'other']) {
      const described = namespace === undefined ? 'no namespace' : JSON.stringify(namespace);
      it(`${method.id} with ${described} acts where it was authorized`, async () => {
        const meant = namespace || 'default';
        const given = namespace === undefined ? {} : { namespace };
        await call(method, requestOf(method, { ...given, name: 'thing' }));
        expect(authorized[0]).to.equal(meant);
        for (const key of touched) expect(key.namespace).to.equal(meant);
        // The shape of a write is validated before other objects are read.
        const shapes = ['Create', 'Update'].includes(method.standard?.verb ?? '');
        const written = shapes || method.id === 'VolumeService.Import';
        if (!written) expect(touched).to.not.deep.equal([]);
      });
    }

  for (const method of methods.filter(({ route }) => route?.path.includes('{name}')))
    it(`${method.id} without a namespace and a name acts on nothing`, async () => {
      const code = await call(method, requestOf(method, { namespace: 'other' }));
      expect(code).to.equal(status.INVALID_ARGUMENT);
      for (const { name } of touched) expect(name).to.not.equal('undefined');
    });
});
