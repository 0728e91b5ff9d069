import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { kedgeClient } from '@kedge/api/client';
import { finish, root, TestDaemon } from '../daemon.js';

/** Certificates by OpenSSL: a CA, a server's with its later replacement, and a client's. */
function makeCertificates(folder: string): void {
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const authority = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=ca'];
  openssl('req', ...authority, '-keyout', 'ca.key', '-out', 'ca.crt');
  for (const [name, extension] of [
    ['server', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
    ['later', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
    ['client', 'extendedKeyUsage=clientAuth'],
  ] as const) {
    const subject = ['-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`];
    openssl(
      'req',
      ...subject,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-addext',
      extension,
    );
    const sign = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1'];
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...sign,
      '-copy_extensions',
      'copy',
      '-out',
      `${name}.crt`,
    );
  }
}

describe('TLS on both ports', function () {
  this.timeout(180_000);
  let folder: string;
  let daemon: TestDaemon;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-tls-'));
    makeCertificates(folder);
  });
  afterEach(() => daemon.dispose());
  after(() => rm(folder, { recursive: true }));

  const files = (name: string, mutual: boolean): Record<string, string> => ({
    KEDGE_SERVER_TLS_CERT_FILE: join(folder, `${name}.crt`),
    KEDGE_SERVER_TLS_KEY_FILE: join(folder, `${name}.key`),
    ...(mutual ? { KEDGE_SERVER_TLS_CLIENT_CA_FILE: join(folder, 'ca.crt') } : {}),
  });
  const pem = (name: string) => readFile(join(folder, name));

  const rest = async (method: string, path: string, withCertificate: boolean) => {
    const certificate = withCertificate
      ? { cert: await pem('client.crt'), key: await pem('client.key') }
      : {};
    const ca = await pem('ca.crt');
    return new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
      const [host, port] = daemon.restAddress.split(':');
      const authorization = daemon.token ? { authorization: `Bearer ${daemon.token}` } : {};
      const options = { host, port, method, path, ca, ...certificate, headers: authorization };
      const call = request({ ...options, agent: false }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: JSON.parse(text) as Record<string, unknown>,
          }),
        );
      });
      call.on('error', reject);
      call.end();
    });
  };
  const subjectOf = (address: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const [host, port] = address.split(':');
      const socket = connect(
        { host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] },
        () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });

  it('is used by REST, gRPC and the command line, and changed certificate files are reloaded', async () => {
    const copy = (name: string) =>
      execFileSync('sh', ['-c', `cp ${name}.crt live.crt && cp ${name}.key live.key`], {
        cwd: folder,
      });
    copy('server');
    daemon = await TestDaemon.start({ environment: files('live', false), bootstrap: false });
    daemon.token = String((await rest('POST', '/v1/admin/bootstrap', false)).body.token);
    expect((await rest('GET', '/v1/nodes', false)).status).to.equal(200);
    using client = kedgeClient({
      server: daemon.grpcAddress,
      token: daemon.token,
      tls: { ca: await pem('ca.crt') },
    });
    expect((await client.methods.auth.whoAmI({})).subject).to.equal('root');
    const login = ['login', '--server', daemon.grpcAddress, '--ca-file', join(folder, 'ca.crt')];
    const kedge = join(root, 'cmd/bin/kedge.mjs');
    const untrusted = `echo x | ${process.execPath} ${kedge} ${login.slice(0, 3).join(' ')} --tls`;
    const refused = await finish('sh', ['-c', untrusted], { ...daemon.environment });
    expect(refused.stderr).to.contain('--ca-file').and.not.contain('Is kedged running');
    const text = `echo "${daemon.token}" | ${process.execPath} ${kedge} ${login.join(' ')}`;
    const environment = { ...daemon.environment };
    expect((await finish('sh', ['-c', text], environment)).code).to.equal(0);
    const nodes = await finish(process.execPath, [kedge, 'get', 'nodes'], environment);
    expect(nodes.stdout).to.contain('Ready');
    expect([
      await subjectOf(daemon.grpcAddress),
      await subjectOf(daemon.restAddress),
    ]).to.deep.equal(['server', 'server']);
    copy('later');
    await eventually('the later certificate', async () => {
      const subjects = [await subjectOf(daemon.grpcAddress), await subjectOf(daemon.restAddress)];
      return subjects.every((subject) => subject === 'later');
    });
    // Certificates and keys that do not match are refused.
    execFileSync('sh', ['-c', 'cp server.crt live.crt'], { cwd: folder });
    await eventually('the warning', () => daemon.log.includes('the previous ones stay in use'));
    expect(await subjectOf(daemon.restAddress)).to.equal('later');
    expect((await rest('GET', '/v1/nodes', false)).status).to.equal(200);
  });

  it('mutual: both a certificate of the authority and a token are required', async () => {
    daemon = await TestDaemon.start({ environment: files('server', true), bootstrap: false });
    const failed = await rest('POST', '/v1/admin/bootstrap', false).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    );
    expect(failed).to.be.instanceOf(Error);
    expect((await rest('GET', '/v1/nodes', true)).status).to.equal(401);
    daemon.token = String((await rest('POST', '/v1/admin/bootstrap', true)).body.token);
    expect((await rest('GET', '/v1/nodes', true)).status).to.equal(200);
    const ca = await pem('ca.crt');
    const certificate = { cert: await pem('client.crt'), key: await pem('client.key') };
    for (const [tls, works] of [
      [{ ca }, false],
      [{ ca, ...certificate }, true],
    ] as const) {
      using client = kedgeClient({
        server: daemon.grpcAddress,
        token: daemon.token,
        timeoutMs: works ? 60_000 : 3_000,
        tls,
      });
      const subject = await client.methods.auth.whoAmI({}).then(
        (me) => me.subject,
        () => undefined,
      );
      expect(subject).to.equal(works ? 'root' : undefined);
    }
  });

  it('a non-loopback address requires TLS; a certificate without its key is refused by name', async () => {
    daemon = await TestDaemon.start();
    const check = (environment: Record<string, string>, ...flags: string[]) =>
      finish(
        process.execPath,
        [join(root, 'cmd/bin/kedged.mjs'), '--check-config', ...flags],
        environment,
      );
    const clear = await check({}, '--grpc-address', '0.0.0.0:7863');
    expect(clear.code).to.not.equal(0);
    expect(clear.stderr).to.contain('server.grpcAddress').and.contain('tls.certFile');
    const encrypted = await check(files('server', false), '--grpc-address', '0.0.0.0:7863');
    expect(encrypted.code).to.equal(0);
    const half = await check({ KEDGE_SERVER_TLS_CERT_FILE: join(folder, 'server.crt') });
    expect(half.stderr).to.contain('server.tls.keyFile');
  });
});
