import { expect } from 'chai';
import { hasCode, type StatusCode, StatusError } from 'kedge';
import { ApiClient } from 'kedge/client';
import { baseDescriptors, isJsonObject, type JsonObject, SchemaRegistry, textOf } from 'kedge/rpc';
import { apiSchemas, type KedgeClient, kedgeClient } from '@kedge/api/client';
import { allKinds } from '@kedge/controllers/kinds';
import { TestDaemon } from '../daemon.js';

async function codeOf(promise: Promise<unknown>): Promise<StatusCode | 'OK'> {
  return promise.then(
    () => 'OK' as const,
    (error: unknown) => StatusError.from(error).code,
  );
}

describe('lists', () => {
  it('are paged over gRPC even without a limit, so that every client accepts them, and complete over REST', async () => {
    const daemon = await TestDaemon.start();
    try {
      using client = kedgeClient({ server: daemon.grpcAddress, token: daemon.token });
      const names = Array.from({ length: 60 }, (_, n) => `large-${String(n).padStart(2, '0')}`);
      for (const name of names)
        await client.configmaps.create({
          name,
          namespace: 'default',
          labels: {},
          data: { text: 'x'.repeat(100_000) },
          version: 0,
        });
      using raw = new ApiClient({
        server: daemon.grpcAddress,
        token: daemon.token,
        schemas: apiSchemas(),
        packageName: 'api',
      });
      const page = async (pageToken: string): Promise<{ size: number; answer: JsonObject }> => {
        const request = { namespace: 'default', pageToken };
        const bytes = await raw.callBytes('ConfigmapService.List', request);
        const message = apiSchemas().message('api.ListConfigmapsResponse');
        return { size: bytes.length, answer: apiSchemas().decode(message, bytes) };
      };
      const seen: string[] = [];
      const revisions = new Set<unknown>();
      let pages = 0;
      let token = '';
      do {
        const { size, answer } = await page(token);
        expect(size).to.be.below(2 * 1_048_576);
        pages += 1;
        revisions.add(answer.resourceVersion);
        for (const { name } of answer.items as readonly { name: string }[]) seen.push(name);
        token = textOf(answer, 'nextPageToken');
      } while (token !== '');
      expect(seen).to.deep.equal(names);
      expect(pages).to.be.above(3);
      expect(revisions.size).to.equal(1);
      const whole = await daemon.ok('GET', '/v1/namespaces/default/configmaps');
      expect((whole as { items: unknown[] }).items).to.have.length(names.length);
    } finally {
      await daemon.dispose();
    }
  });
});

describe('gRPC health and reflection', () => {
  let daemon: TestDaemon;
  const never = new AbortController().signal;
  const over = (packageName: string, token = daemon.token): ApiClient =>
    new ApiClient({
      server: daemon.grpcAddress,
      token,
      schemas: new SchemaRegistry(baseDescriptors),
      packageName,
    });
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  it('health reports the server and its services, and NotFound for others', async () => {
    using client = over('grpc.health.v1');
    const check = (service: string) => client.call('Health.Check', { service });
    expect((await check('')).status).to.equal('SERVING');
    expect((await check('api.VolumeService')).status).to.equal('SERVING');
    expect(await codeOf(check('api.NoService'))).to.equal('NotFound');
    for await (const answer of client.stream('Health.Watch', { service: 'no.Such' }, never)) {
      expect(answer.status).to.equal('SERVICE_UNKNOWN');
      break;
    }
    using nobody = over('grpc.health.v1', 'kedge_wrong');
    expect(await codeOf(nobody.call('Health.Check', {}))).to.equal('Unauthenticated');
  });

  it('reflection lists the services, and returns files with their imports by symbol and by name', async () => {
    using client = over('grpc.reflection.v1');
    const ask = async (...questions: readonly JsonObject[]): Promise<JsonObject[]> => {
      const answers: JsonObject[] = [];
      const requests = (async function* () {
        yield* questions;
      })();
      const id = 'ServerReflection.ServerReflectionInfo';
      for await (const answer of client.duplex(id, requests, never)) answers.push(answer);
      return answers;
    };
    const [list, symbol, again, missing] = await ask(
      { listServices: '' },
      { fileContainingSymbol: 'api.VolumeService.Resize' },
      { fileByFilename: 'api/volume.proto' },
      { fileContainingSymbol: 'no.Such' },
    );
    const services = (list?.listServicesResponse as { service: { name: string }[] }).service;
    expect(services.map((s) => s.name)).to.include.members([
      'api.VolumeService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
    ]);
    const files = (answer: JsonObject | undefined): string[] =>
      (answer?.fileDescriptorResponse as { fileDescriptorProto: string[] }).fileDescriptorProto;
    const texts = files(symbol).map((file) => Buffer.from(file, 'base64').toString('latin1'));
    expect(texts.some((text) => text.includes('api/volume.proto'))).to.equal(true);
    expect(texts.some((text) => text.includes('google/api/http.proto'))).to.equal(true);
    // Comments are at the place where tools such as grpcurl read them.
    expect(texts.some((text) => text.includes('A unit of durable storage'))).to.equal(true);
    // Files already sent on this stream are not sent again.
    expect(files(again).length).to.equal(1);
    expect(isJsonObject(missing?.errorResponse)).to.equal(true);
  });
});

describe('the typed client', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let client: KedgeClient;
  before(async () => {
    daemon = await TestDaemon.start();
    client = kedgeClient({
      server: daemon.grpcAddress,
      token: daemon.token,
      retry: { attempts: 20 },
    });
  });
  after(async () => {
    client.close();
    await daemon.dispose();
  });
  const key = (name: string) => ({ namespace: 'default', name });
  const configmap = (name: string) => ({ ...key(name), labels: {}, data: {}, version: 0 });

  it('has a client for every kind, which lists its objects', async () => {
    for (const kind of allKinds) {
      const resource = client[kind.plural as 'volumes'];
      expect(resource, kind.plural).to.be.an('object');
      const { revision } = await resource.list();
      expect(revision, kind.plural).to.be.greaterThan(0);
    }
  });

  it('calls typed methods by name, with zero values set', async () => {
    const me = await client.methods.auth.whoAmI({});
    expect(me).to.deep.include({ subject: 'root', policies: ['root'], expiresAt: '' });
    const { items } = await client.methods.storageClass.list({ limit: 1 });
    expect(items[0]).to.include({ default: false });
    const failed = await codeOf(client.methods.volume.get(key('none')));
    expect(failed).to.equal('NotFound');
  });

  it('iterates page by page over all objects', async () => {
    for (let n = 0; n < 7; n += 1) await client.configmaps.create(configmap(`page-${n}`));
    const small = client.api.resource(allKinds.find((k) => k.kind === 'Configmap') as never, {
      pageSize: 2,
    });
    const names: string[] = [];
    for await (const object of small.iterate({ namespace: 'default' })) names.push(object.name);
    expect(names).to.deep.equal(Array.from({ length: 7 }, (_, n) => `page-${n}`));
  });

  it('waits for a condition, a creation or a deletion, and reports the last state after the timeout', async () => {
    const waiting = client.volumes.waitFor(key('awaited'), (v) => v?.status === 'Available', {
      timeoutMs: 60_000,
    });
    await daemon.ok('POST', '/v1/namespaces/default/volumes', {
      name: 'awaited',
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'local',
    });
    expect((await waiting)?.handle)
      .to.be.a('string')
      .and.not.equal('');
    const vain = client.volumes.waitFor(key('awaited'), (v) => v?.status === 'Failed', {
      timeoutMs: 3_000,
    });
    const error = await vain.catch((e: unknown) => e as StatusError);
    expect(hasCode(error, 'DeadlineExceeded')).to.equal(true);
    expect((error as StatusError).message).to.contain('it is Available');
    const gone = client.volumes.waitFor(key('awaited'), (v) => v === undefined, {
      timeoutMs: 60_000,
    });
    await client.volumes.deleteByName(key('awaited'));
    expect(await gone).to.equal(undefined);
  });

  it('survives a kill -9 of the server: reads are retried, watches resume, objects are created once', async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    const { revision } = await client.configmaps.list();
    const following = (async () => {
      const options = { namespace: 'default', fromRevision: revision, signal: stop.signal };
      for await (const { object } of client.configmaps.follow(options)) {
        seen.push(object.name);
        if (object.name === 'after') return;
      }
    })();
    await client.configmaps.create(configmap('before'));
    // The same port again, so that the client can reconnect.
    const [, grpc = ''] = daemon.grpcAddress.split(':');
    const [, rest = ''] = daemon.restAddress.split(':');
    await daemon.end('SIGKILL');
    const reading = client.configmaps.get(key('before'));
    const made = client.configmaps.create(configmap('after'), { attempts: 20 });
    await daemon.run({ grpc, rest });
    expect((await reading)?.name).to.equal('before');
    expect((await made).name).to.equal('after');
    await following;
    expect(seen).to.deep.equal(['before', 'after']);
    stop.abort();
  });
});
