import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { type Volume, VolumeServiceService, type WatchVolumesResponse } from '@kedge/api';
import { eventually } from 'kedge/testing';
import { finish, root, TestDaemon } from '../daemon.js';

describe('access to a running daemon', () => {
  let daemon: TestDaemon;
  let powerless: string;

  before(async () => {
    daemon = await TestDaemon.start();
    await daemon.ok('POST', '/v1/admin/users', { name: 'nobody' });
    const token = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'nobody' });
    powerless = String(token.token);
  });
  after(() => daemon.dispose());

  const grpcStatus = (
    path: string,
    token: string | undefined,
    metadata = new Metadata(),
  ): Promise<number> => {
    const client = new Client(daemon.grpcAddress, credentials.createInsecure());
    if (token) metadata.set('authorization', `Bearer ${token}`);
    const raw = (b: Buffer): Buffer => b;
    return new Promise((resolve) => {
      const call = client.makeServerStreamRequest(path, raw, raw, Buffer.alloc(0), metadata);
      call.on('data', () => undefined);
      call.on('error', (error: ServiceError) => resolve(error.code));
      call.on('end', () => resolve(status.OK));
    }).finally(() => client.close()) as Promise<number>;
  };
  it('a cast without the right to its object is refused', async () => {
    const objects = [{ kind: 'Volume', object: { name: 'x' } }];
    expect((await daemon.rest('POST', '/v1/cast', { objects }, powerless)).status).to.equal(403);
  });

  it('unknown paths need a token too, and then say 404 or 405', async () => {
    expect((await daemon.rest('GET', '/v1/nothing', undefined, null)).status).to.equal(401);
    expect((await daemon.rest('GET', '/v1/nothing')).status).to.equal(404);
    expect((await daemon.rest('PATCH', '/v1/nodes')).status).to.equal(405);
    expect((await daemon.rest('GET', '/v1/nodes/')).status).to.equal(200);
  });

  it('bootstrap accepts only direct calls from the machine itself: no pages, foreign host names or proxies', async () => {
    const [host = '', port = ''] = daemon.restAddress.split(':');
    const bootstrap = (headers: Readonly<Record<string, string>>): Promise<string> =>
      new Promise((resolve, reject) => {
        const path = '/v1/admin/bootstrap';
        const call = request({ host, port, path, method: 'POST', headers }, (response) => {
          let text = '';
          response.on('data', (data) => (text += String(data)));
          response.on('end', () =>
            resolve(String((JSON.parse(text) as { reason: string }).reason)),
          );
        });
        call.on('error', reject).end();
      });
    for (const headers of [
      { host: `evil.example:${port}` },
      { host: `127.evil.example:${port}` },
      { origin: 'http://evil.example' },
      { 'x-forwarded-for': '192.0.2.1' },
      { forwarded: 'for=192.0.2.1' },
    ])
      expect(await bootstrap(headers), JSON.stringify(headers)).to.equal('LoopbackOnly');
    expect(await bootstrap({})).to.equal('AlreadyBootstrapped');
    expect(await bootstrap({ host: `localhost:${port}` })).to.equal('AlreadyBootstrapped');
    const metadata = new Metadata();
    metadata.set('x-forwarded-for', '192.0.2.1');
    for (const name of ['Bootstrap', 'AdminBootstrap']) {
      const path = `/api.AdminService/${name}`;
      expect(await grpcStatus(path, undefined, metadata)).to.equal(status.PERMISSION_DENIED);
      expect(await grpcStatus(path, undefined)).to.equal(status.FAILED_PRECONDITION);
    }
  });

  it('a namespace that differs from the path is refused', async () => {
    const path = '/v1/namespaces/default/volumes';
    expect((await daemon.rest('GET', `${path}?namespace=default`)).status).to.equal(200);
    const other = await daemon.rest('GET', `${path}?namespace=system`);
    expect(other.status).to.equal(400);
    expect(other.body.message).to.contain('namespace: "system" differs from "default" in the path');
  });

  it('bootstrap a second time is 412 / FailedPrecondition', async () => {
    expect((await daemon.rest('POST', '/v1/admin/bootstrap', undefined, null)).status).to.equal(
      412,
    );
    expect(await grpcStatus('/api.AdminService/Bootstrap', undefined)).to.equal(
      status.FAILED_PRECONDITION,
    );
  });

  it('a token is shown once, never listed with its secret, and invalid as soon as it is deleted', async () => {
    const made = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'nobody' });
    const text = String(made.token);
    const listed = JSON.stringify(await daemon.list('/v1/auth/tokens'));
    expect(listed).to.not.contain(text);
    expect(listed).to.not.contain('secretHash');
    expect((await daemon.rest('GET', '/v1/auth/whoami', undefined, text)).body.subject).to.equal(
      'nobody',
    );
    await daemon.ok('DELETE', `/v1/auth/tokens/${String(made.name)}`);
    expect((await daemon.rest('GET', '/v1/auth/whoami', undefined, text)).status).to.equal(401);
  });

  it('a token is validated: an unknown field is refused, finalizers and fields of the server are ignored', async () => {
    const path = '/v1/auth/tokens';
    for (const bad of [{ subject: 'nobody', foo: 1 }, {}, { subject: 'nobody', ttlSeconds: -1 }])
      expect((await daemon.rest('POST', path, bad)).status, JSON.stringify(bad)).to.equal(400);
    expect((await daemon.rest('POST', path, { subject: 'stranger' })).status).to.equal(404);
    const forged = { expiresAt: '2000-01-01T00:00:00Z', metadata: { finalizers: ['x/y'] } };
    const made = await daemon.ok('POST', path, { subject: 'nobody', ...forged });
    expect(made.expiresAt).to.equal('');
    expect((made.metadata as { finalizers: string[] }).finalizers).to.deep.equal([]);
  });

  it('built-in policies can be read, but not changed or deleted', async () => {
    const policy = await daemon.ok('GET', '/v1/admin/policies/root');
    expect(policy.builtin).to.equal(true);
    const body = { name: 'root', rules: [] };
    expect((await daemon.rest('PUT', '/v1/admin/policies/root', body)).status).to.equal(412);
    expect((await daemon.rest('DELETE', '/v1/admin/policies/root')).status).to.equal(412);
  });

  it('a client of grpc-js with the generated codecs reads and watches the same objects as REST', async () => {
    const client = new Client(daemon.grpcAddress, credentials.createInsecure());
    const { get, watch: watched } = VolumeServiceService;
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${daemon.token}`);
    const request = { namespace: 'default', name: 'v' };
    const body = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    await daemon.ok('POST', '/v1/namespaces/default/volumes', body);
    await eventually('the volume', async () => {
      const made = await daemon.ok('GET', '/v1/namespaces/default/volumes/v');
      return made.status === 'Available';
    });
    const volume = await new Promise<Volume>((resolve, reject) => {
      client.makeUnaryRequest(
        get.path,
        get.requestSerialize,
        get.responseDeserialize,
        request,
        metadata,
        (error, answer) => (answer ? resolve(answer) : reject(error ?? new Error('no answer'))),
      );
    });
    const rest = await daemon.ok('GET', `/v1/namespaces/default/volumes/v`);
    expect(volume).to.include({
      size: rest.size,
      status: rest.status,
      accessMode: 'ReadWriteOnce',
    });
    const watch = client.makeServerStreamRequest(
      watched.path,
      watched.requestSerialize,
      watched.responseDeserialize,
      { namespace: 'default', resourceVersion: '', labelSelector: '', fieldSelector: '' },
      metadata,
    );
    const first = await new Promise<WatchVolumesResponse>((resolve, reject) => {
      watch.once('data', resolve);
      watch.once('error', reject);
    });
    watch.on('error', () => undefined);
    watch.cancel();
    expect(first.events.map((e) => e.object?.name)).to.include('v');
    client.close();
  });

  it('malformed protobuf is InvalidArgument, malformed JSON is 400', async () => {
    const client = new Client(daemon.grpcAddress, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${daemon.token}`);
    const raw = (b: Buffer): Buffer => b;
    const code = await new Promise((resolve) => {
      client.makeUnaryRequest(
        '/api.VolumeService/Get',
        raw,
        raw,
        Buffer.from([0xff, 0xff]),
        metadata,
        (e) => resolve(e?.code),
      );
    });
    client.close();
    expect(code).to.equal(status.INVALID_ARGUMENT);
    const deep = '['.repeat(100_000);
    const response = await fetch(`http://${daemon.restAddress}/v1/namespaces/default/volumes`, {
      method: 'POST',
      body: deep,
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
    });
    expect(response.status).to.equal(400);
  });

  it('the curl examples of the API page work as printed', async () => {
    const page = await readFile(join(root, 'docs/reference/api.md'), 'utf8');
    const blocks = [...page.matchAll(/```sh\n([^]*?)```/g)].map((m) => m[1] ?? '');
    expect(blocks).to.have.length(4);
    const env = { T: daemon.token, U: `http://${daemon.restAddress}` };
    for (const block of blocks) {
      const watching = block.includes('watch=true');
      // Shell functions of these names, so that the commands are used as printed.
      const curl = `curl() { command curl -sS ${watching ? '--max-time 1' : ''} "$@"; }`;
      const done = await finish('bash', ['-ec', `${curl}\n${block}`], env);
      // 28 is curl's own time limit: a watch does not end.
      expect(done.code, `${block}: ${done.stdout}${done.stderr}`).to.equal(watching ? 28 : 0);
      if (!watching) expect(done.stderr).to.equal('');
      if (watching) expect(done.stdout).to.match(/event: (ADDED|BOOKMARK)/);
      else expect(done.stdout).to.match(/"(resourceVersion|allowed)"/);
      if (block.includes('if-match')) expect(done.stdout).to.contain('"mode":"slow"');
      if (block.includes('problem+json')) expect(done.stdout).to.contain('"title":"NotFound"');
    }
  });
});
