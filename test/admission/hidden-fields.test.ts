import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { type AnyKind, asObject } from 'kedge';
import { type JsonObject, SchemaRegistry } from 'kedge/rpc';
import { descriptorSet } from '@kedge/api';
import { comments } from '@kedge/api/comments';
import { hiddenFields } from '@kedge/api/kinds';
import { snapshots, volumes } from '@kedge/controllers';
import { ValidatedApi } from './validated-api.js';

const schemas = new SchemaRegistry(descriptorSet);
const marker = '2031-07-09T10:11:12.131Z';
const base = '/v1/namespaces/default';

/** An object of each kind with hidden fields, with a value in each of them. */
const subjects: readonly {
  readonly kind: AnyKind;
  readonly spec: JsonObject;
  readonly hidden: JsonObject;
}[] = [
  {
    kind: volumes,
    spec: { storageClassName: 'local', size: '1Gi', accessMode: 'ReadWriteOnce' },
    hidden: { neverUsed: true, missingSince: marker, failedWith: marker },
  },
  {
    kind: snapshots,
    spec: { source: { volume: 'hiding' } },
    hidden: { failedWith: marker },
  },
];

describe('stored fields that are not part of the API', () => {
  let api: ValidatedApi;
  let client: Client;
  before(async () => {
    api = await ValidatedApi.start();
    client = new Client(api.grpcAddress, credentials.createInsecure());
    for (const { kind, spec, hidden } of subjects) {
      const key = { namespace: 'default', name: 'hiding' };
      await api.store.create(kind, asObject({ ...key, ...spec }));
      await api.store.updateStatus(kind, key, hidden);
    }
  });
  after(async () => {
    client.close();
    await api[Symbol.asyncDispose]();
  });

  /** A call with the bytes of its answer. */
  function call(method: string, request: Uint8Array): Promise<Buffer> {
    const metadata = new Metadata();
    metadata.set('authorization', 'Bearer root');
    return new Promise((resolve, reject) =>
      client.makeUnaryRequest(
        `/api.${method}`,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes) => bytes,
        request,
        metadata,
        (error: ServiceError | null, answer) =>
          error || !answer ? reject(error ?? new Error('no answer')) : resolve(answer),
      ),
    );
  }
  const get = (kind: string): Promise<Buffer> => {
    const message = schemas.message(`api.Get${kind}Request`);
    const request = schemas.encode(message, { namespace: 'default', name: 'hiding' });
    return call(`${kind}Service.Get`.replace('.', '/'), request);
  };

  it('are those of the subjects in this test', () => {
    expect(Object.keys(hiddenFields).sort()).to.deep.equal(
      subjects.map(({ kind }) => kind.kind).sort(),
    );
    for (const { kind, hidden } of subjects)
      expect(Object.keys(hidden)).to.have.members(Object.keys(hiddenFields[kind.kind] ?? {}));
  });

  for (const { kind, hidden } of subjects) {
    const { plural } = kind;
    const path = `${base}/${plural}/hiding`;
    const field = kind.kind.toLowerCase();

    it(`of ${kind.kind} are stored and in no answer, over REST, gRPC and the object service`, async () => {
      const stored = await api.store.get(kind, { namespace: 'default', name: 'hiding' });
      expect(stored).to.include(hidden);
      const list = await api.ok('GET', `${base}/${plural}`);
      const object = await api.ok('GET', path);
      const remote = await api.remote();
      const seen = await remote.get(kind, { namespace: 'default', name: 'hiding' });
      await remote.close();
      for (const answer of [list, object, seen]) {
        const text = JSON.stringify(answer);
        expect(text).to.contain('hiding').and.to.not.contain(marker);
        for (const name of Object.keys(hidden)) expect(text).to.not.contain(name);
      }
      const bytes = await get(kind.kind);
      expect(bytes.includes('hiding')).to.equal(true);
      expect(bytes.includes(marker)).to.equal(false);
    });

    it(`of ${kind.kind} are refused: over REST by name, over gRPC by number`, async () => {
      for (const [name, value] of Object.entries(hidden)) {
        const written = await api.rest('PUT', `${path}/status`, { [name]: value });
        expect(written.status, name).to.equal(400);
        const spec = await api.rest('POST', `${base}/${plural}`, { name: 'x', [name]: value });
        expect(spec.status, name).to.equal(400);
        expect(JSON.stringify(spec.body), name).to.contain(name);
      }
      const message = schemas.message(`api.Update${kind.kind}StatusRequest`);
      const number = message.fields.find(({ jsonName }) => jsonName === field)?.number ?? 0;
      for (const [name, at] of Object.entries(hiddenFields[kind.kind] ?? {})) {
        const inner = new BinaryWriter().tag(at, 0).uint32(1).finish();
        const request = new BinaryWriter().tag(number, 2).bytes(inner).finish();
        const refusal: unknown = await call(
          `${kind.kind}Service/UpdateStatus`,
          Buffer.concat([
            schemas.encode(message, { namespace: 'default', name: 'hiding' }),
            request,
          ]),
        ).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect((refusal as ServiceError | undefined)?.code, name).to.equal(status.INVALID_ARGUMENT);
      }
    });

    it(`of ${kind.kind} can't be selected by, and are in no document`, async () => {
      for (const name of Object.keys(hidden)) {
        const selected = await api.rest('GET', `${base}/${plural}?fieldSelector=${name}=x`);
        expect(selected.status, name).to.equal(400);
      }
      const document = JSON.stringify(await api.ok('GET', '/v1/openapi.json'));
      const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
      for (const name of Object.keys(hidden)) {
        expect(document).to.not.contain(`"${name}"`);
        expect(comments).to.not.have.property(`api.${kind.kind}.${snake(name)}`);
        const proto = Buffer.from(descriptorSet, 'base64');
        expect(proto.includes(snake(name)), name).to.equal(false);
      }
    });
  }
});
