import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { expect } from 'chai';
import { asObject, StatusError } from 'kedge';
import { type DescEnum, type DescMessage, type JsonObject, SchemaRegistry } from 'kedge/rpc';
import * as generated from '@kedge/api';
import { kedgeClient } from '@kedge/api/client';
import { volumes } from '@kedge/controllers';
import { ValidatedApi } from './validated-api.js';

const schemas = new SchemaRegistry(generated.descriptorSet);
const base = '/v1/namespaces/default';

/** A place of an enum in a message. */
interface Place {
  readonly path: string;
  /** The path without indexes, as errors of encoded messages have it. */
  readonly wirePath: string;
  readonly desc: DescEnum;
  /** A message with this value there. */
  readonly around: (value: unknown) => JsonObject;
}

function placesIn(message: DescMessage, within: readonly DescMessage[] = []): readonly Place[] {
  if (message.typeName.startsWith('google.protobuf.') || within.includes(message)) return [];
  return message.fields.flatMap((field): readonly Place[] => {
    const { jsonName: name, enum: desc, message: inner, fieldKind } = field;
    const own: Place = { path: '', wirePath: '', desc: desc!, around: (value) => ({ value }) };
    const found = desc ? [own] : inner ? placesIn(inner, [...within, message]) : [];
    const index = fieldKind === 'list' ? '[0]' : fieldKind === 'map' ? '.a' : '';
    const entry = fieldKind === 'map' ? '.value' : '';
    return found.map((place) => {
      const of = (value: unknown): unknown => (desc ? value : place.around(value));
      const rest = place.path === '' ? '' : `.${place.path}`;
      const wireRest = place.wirePath === '' ? '' : `.${place.wirePath}`;
      return {
        path: `${name}${index}${rest}`,
        wirePath: `${name}${entry}${wireRest}`,
        desc: place.desc,
        around: (value): JsonObject => ({
          [name]:
            fieldKind === 'list' ? [of(value)] : fieldKind === 'map' ? { a: of(value) } : of(value),
        }),
      };
    });
  });
}

const methods = schemas
  .services('api')
  .flatMap(({ name, methods: own }) =>
    own.map((method) => ({ id: `${name}/${method.name}`, method })),
  );

function refusalOf(work: () => unknown): StatusError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return StatusError.from(error);
  }
}

const rejection = (work: Promise<unknown>): Promise<StatusError | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => StatusError.from(error),
  );

describe('a value that an enum of the API does not have', () => {
  let api: ValidatedApi;
  before(async () => {
    api = await ValidatedApi.start();
  });
  after(() => api[Symbol.asyncDispose]());

  it('is not encoded in any request or answer, and the error has the values of the generated types', () => {
    const constants: Readonly<Record<string, unknown>> = { ...generated };
    let places = 0;
    for (const { id, method } of methods)
      for (const message of [method.input, method.output])
        for (const { path, desc, around } of placesIn(message)) {
          places += 1;
          const refusal = refusalOf(() => schemas.encode(message, around('Retian')));
          expect(refusal?.code, `${id} ${path}`).to.equal('InvalidArgument');
          expect(refusal?.violations[0]?.field).to.equal(path);
          const type = constants[desc.typeName.replace('api.', '').replaceAll('.', '_')] as object;
          const names = Object.keys(type);
          const allowed = names.filter((name) => !name.endsWith('_UNSPECIFIED'));
          expect(refusal?.violations[0]?.description).to.equal(
            `"Retian" is not allowed; use one of ${allowed.join(', ')}`,
          );
          for (const name of names) schemas.encode(message, around(name));
        }
    expect(places).to.be.above(100);
  });

  it('is refused in every request of gRPC by its number, with its field', async function () {
    this.timeout(60_000);
    const client = new Client(api.grpcAddress, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set('authorization', 'Bearer root');
    let places = 0;
    for (const { id, method } of methods.filter(({ method: m }) => m.methodKind === 'unary'))
      for (const { wirePath, around } of placesIn(method.input)) {
        places += 1;
        const bytes = Buffer.from(schemas.encode(method.input, around(99)));
        const error = await new Promise<ServiceError | null>((resolve) =>
          client.makeUnaryRequest(
            `/api.${id}`,
            (given: Buffer) => given,
            (given) => given,
            bytes,
            metadata,
            resolve,
          ),
        );
        expect(error?.code, `${id} ${wirePath}`).to.equal(3);
        expect(error?.details).to.contain(`${wirePath}: `).and.to.contain('number 99');
      }
    client.close();
    expect(places).to.be.above(40);
  });

  it('is refused for each way in which the library writes', async () => {
    const value = 'Retian' as 'retain';
    const volume = {
      ...{ name: 'a', namespace: 'default', storageClassName: 'local', size: '1Gi' },
      accessMode: 'ReadWriteOnce' as const,
    };
    using client = kedgeClient({ server: api.grpcAddress, token: 'root' });
    const stored = await client.volumes.create(volume as never);
    const remote = await api.remote();
    const changed = { ...stored, reclaimPolicy: value };
    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      create: () => client.volumes.create({ ...volume, name: 'b', reclaimPolicy: value } as never),
      update: () => client.volumes.update(changed),
      method: () => client.methods.volume.update({ namespace: 'default', volume: changed }),
      call: () =>
        client.api.call('VolumeService.Update', { namespace: 'default', volume: changed }),
      cast: () =>
        client.api.call('CastService.Cast', {
          objects: [{ kind: 'Volume', object: { ...volume, name: 'b', reclaimPolicy: value } }],
        }),
      transaction: () =>
        remote.transact([
          {
            op: 'create',
            kind: volumes,
            object: asObject({ ...volume, name: 'b', reclaimPolicy: value }),
          },
        ]),
      REST: async () => {
        const answer = await api.rest('POST', `${base}/volumes`, {
          ...{ ...volume, name: 'b', reclaimPolicy: value },
        });
        throw new StatusError({
          code: answer.status === 400 ? 'InvalidArgument' : 'Unknown',
          reason: 'Answer',
          message: JSON.stringify(answer.body),
        });
      },
    };
    for (const [way, write] of Object.entries(writes)) {
      const refusal = await rejection(write());
      expect(refusal?.code, `${way}: ${refusal?.message}`).to.equal('InvalidArgument');
      expect(refusal?.message, way).to.match(
        /reclaimPolicy.*Retian.* is not allowed; use one of retain, delete/,
      );
    }
    const key = { namespace: 'default', name: 'a' };
    expect(await api.store.get(volumes, key)).to.not.have.property('reclaimPolicy');
    expect(await api.store.get(volumes, { ...key, name: 'b' })).to.equal(undefined);
    await remote.close();
  });

  it('is refused as a number in the status that a controller writes, which is stored as JSON', async () => {
    const key = { namespace: 'default', name: 'status' };
    const spec = { storageClassName: 'local', size: '1Gi', accessMode: 'ReadWriteOnce' };
    await api.ok('POST', `${base}/volumes`, { name: 'status', ...spec });
    const remote = await api.remote();
    for (const status of [99, 3, 'Abailable']) {
      const refusal = await rejection(remote.updateStatus(volumes, key, { status } as never));
      expect(refusal?.code, String(status)).to.equal('InvalidArgument');
      expect(refusal?.message).to.contain(`status: ${JSON.stringify(status)} is not allowed`);
      const answer = await api.rest('PUT', `${base}/volumes/status/status`, { status });
      expect(answer.status, String(status)).to.equal(400);
    }
    await remote.close();
  });

  it('is -1 in answers of gRPC if it is stored, is refused when it is written back, and can be replaced', async () => {
    const keys = ['newer', 'newest'].map((name) => ({ namespace: 'default', name }));
    const [key, other] = keys as [(typeof keys)[0], (typeof keys)[0]];
    const spec = { storageClassName: 'local', size: '1Gi', accessMode: 'ReadWriteOnce' };
    for (const one of keys)
      await api.store.create(volumes, { ...one, ...spec, reclaimPolicy: 'archive' } as never);
    using client = kedgeClient({ server: api.grpcAddress, token: 'root' });
    const read = await client.api.call('VolumeService.Get', key);
    expect(read).to.include({ reclaimPolicy: -1, effectiveReclaimPolicy: -1 });
    const listed = await client.api.call('VolumeService.List', { namespace: 'default' });
    const shown = (listed.items as readonly JsonObject[]).filter(
      ({ reclaimPolicy }) => reclaimPolicy === -1,
    );
    expect(shown.map(({ name }) => name)).to.deep.equal(['newer', 'newest']);
    const watch = client.api.stream(
      'VolumeService.Watch',
      { namespace: 'default' },
      AbortSignal.timeout(20_000),
    );
    for await (const { events } of watch) {
      const text = JSON.stringify(events);
      expect(text).to.contain('newer').and.to.contain('"reclaimPolicy":-1');
      break;
    }
    const stale = await rejection(
      client.api.call('VolumeService.Update', { ...key, volume: read }),
    );
    expect(stale?.code).to.equal('InvalidArgument');
    expect(stale?.message).to.contain('reclaimPolicy: ').and.to.contain('number -1; use one of');
    expect(await api.store.get(volumes, key)).to.include({ reclaimPolicy: 'archive' });
    expect(await api.ok('GET', `${base}/volumes/newer`)).to.include({ reclaimPolicy: 'archive' });
    const { effectiveReclaimPolicy: _, ...rest } = read;
    const volume = { ...rest, reclaimPolicy: 'retain' };
    await client.api.call('VolumeService.Update', { ...key, volume });
    expect(await client.volumes.get(key)).to.include({ reclaimPolicy: 'retain' });
    await client.api.call('VolumeService.Delete', other);
    expect(await client.api.call('VolumeService.Get', key)).to.include({ reclaimPolicy: 'retain' });
  });

  it('is written back unchanged by a client that reads it from a newer server', () => {
    const message = schemas.message('api.Volume');
    for (const { around, path } of placesIn(message)) {
      const bytes = Buffer.from(schemas.encode(message, around(99)));
      const read = schemas.decode(message, bytes);
      expect(JSON.stringify(read), path).to.equal(JSON.stringify(around(99)));
      expect(Buffer.from(schemas.encode(message, read)), path).to.deep.equal(bytes);
    }
  });

  it('ends a typed method, whose types do not have it, with a StatusError that names the way to read it', async () => {
    using client = kedgeClient({ server: api.grpcAddress, token: 'root' });
    const bytes = Buffer.from(schemas.encode(schemas.message('api.Volume'), { reclaimPolicy: 99 }));
    Object.defineProperty(client.api, 'callBytes', { value: () => Promise.resolve(bytes) });
    const failure = await rejection(client.methods.volume.get({ namespace: 'default', name: 'a' }));
    expect(failure?.reason).to.equal('UnreadableAnswer');
    expect(failure?.message).to.contain('Unrecognized enum value 99 for enum Volume_ReclaimPolicy');
    expect(failure?.message).to.contain('ApiClient.call');
    const read = await client.api.call('VolumeService.Get', { namespace: 'default', name: 'a' });
    expect(read).to.include({ reclaimPolicy: 99 });
  });
});
