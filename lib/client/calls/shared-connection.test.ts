import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { baseDescriptors, SchemaRegistry } from '../../rpc/index.js';
import { ApiClient } from './client.js';

describe('clients of one server', () => {
  it('share a connection with TLS if they have the same certificates', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-tls-'));
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const names = ['-subj', '/CN=a', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const how = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...names];
    execFileSync('openssl', [...how, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const ca = await readFile(cert);
    const server = createSecureServer({ cert: ca, key: await readFile(key) });
    let connections = 0;
    server.on('secureConnection', () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const tls = { ca };
      const options = {
        server: `127.0.0.1:${(server.address() as AddressInfo).port}`,
        ...{ token: 't', tls, packageName: 'kedge', schemas: new SchemaRegistry(baseDescriptors) },
      };
      const { signal } = new AbortController();
      using one = new ApiClient(options);
      expect(await one.connected(10_000, signal)).to.equal(true);
      using two = new ApiClient(options);
      expect(await two.connected(10_000, signal)).to.equal(true);
      expect(connections).to.equal(1);
    } finally {
      server.close();
      await rm(folder, { recursive: true });
    }
  });
});
