import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { kedgeClient } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

const packages = '/usr/share/gocode';
const source = fileURLToPath(
  new URL('../../../acceptance/api/go-client/go-client.go', import.meta.url),
);

function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return existsSync(join(packages, 'src/google.golang.org/grpc'));
  } catch {
    return false;
  }
}

describe('a client of gRPC in Go', function () {
  this.timeout(300_000);
  let folder: string;
  before(async function () {
    if (!hasGo()) {
      const missing = 'Go or its gRPC is missing: apt-get install golang-go golang-google-grpc-dev';
      if (process.env['CI']) throw new Error(missing);
      console.log(`      skipped: ${missing}`);
      this.skip();
    }
    folder = await mkdtemp(join(tmpdir(), 'kedge-go-'));
    execFileSync('go', ['build', '-o', join(folder, 'client'), source], {
      env: {
        ...process.env,
        GO111MODULE: 'off',
        GOPATH: packages,
        GOCACHE: process.env['GOCACHE'] ?? join(folder, 'cache'),
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  });
  after(async () => {
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const results = [
    'health: SERVING',
    'without a token: Unauthenticated: ',
    'of nothing: NotFound: ',
    'of no method: Unimplemented: /api.ConfigmapService/Steal is not a method of this API; reflection lists all methods',
    'without time: DeadlineExceeded',
    'large: true',
    'large: true',
    'too large: ResourceExhausted: ',
    'created: 1500',
    'watched, then: Canceled',
    'done',
  ];

  for (const secured of [false, true])
    it(`makes calls and streams of all forms ${secured ? 'by TLS' : 'without TLS'}`, async () => {
      const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
      const how = 'req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost';
      const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
      const files = ['-keyout', key, '-out', cert];
      execFileSync('openssl', [...how.split(' '), ...names, ...files], { stdio: 'ignore' });
      const tls = { KEDGE_SERVER_TLS_CERT_FILE: cert, KEDGE_SERVER_TLS_KEY_FILE: key };
      const daemon = secured
        ? await TestDaemon.start({ environment: tls, bootstrap: false })
        : await TestDaemon.start();
      try {
        if (secured) {
          const ca = await readFile(cert);
          const server = daemon.grpcAddress.replace('127.0.0.1', 'localhost');
          using client = kedgeClient({ server, token: '', tls: { ca } });
          daemon.token = (await client.methods.admin.bootstrap({})).token;
        }
        const { stdout } = await promisify(execFile)(
          join(folder, 'client'),
          [daemon.grpcAddress, ...(secured ? [cert] : [])],
          { env: { ...process.env, KEDGE_TOKEN: daemon.token } },
        );
        const lines = stdout.trim().split('\n');
        expect(lines.map((line, at) => line.slice(0, results[at]?.length))).to.deep.equal(results);
      } finally {
        await daemon.dispose();
      }
    });
});
