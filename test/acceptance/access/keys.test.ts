import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('rotation of the key-encryption key while running', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  it('reseals all values without a restart, and they open after a kill -9', async () => {
    await daemon.ok('POST', `${base}/secrets`, { name: 's', data: { k: 'sesame' } });
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'cloud',
      driver: 'cloud1-volume',
      parameters: { region: 'x', apiToken: 'literal-token' },
    });
    await daemon.ok('POST', '/v1/admin/registries', {
      name: 'hub',
      registry: 'r.example.com',
      auth: { type: 'token', token: 'pull-token' },
    });
    await daemon.ok('POST', `${base}/services`, {
      name: 'templated',
      image: 'x',
      volumes: [
        {
          name: 'data',
          mountPath: '/data',
          claimTemplate: {
            size: '1Gi',
            accessMode: 'ReadWriteOnce',
            storageClassName: 'cloud',
            parameters: { apiToken: 'own-token' },
          },
        },
      ],
    });
    const uid = async (): Promise<unknown> => {
      const { body } = await daemon.rest('GET', `${base}/instances/templated-0`);
      return (body.metadata as { uid?: string } | undefined)?.uid;
    };
    const before = await eventually('the instance', uid);
    const kek = join(daemon.data, 'kek');
    const first = await readFile(kek, 'utf8');
    const done = await daemon.ok('POST', '/v1/admin/keys:rotate', {});
    expect(Number(done.resealed)).to.be.at.least(5);
    const second = await readFile(kek, 'utf8');
    expect(second).to.not.equal(first);
    // The previous key still opens data of calls in progress.
    expect(second.trim().split('\n')[1]).to.equal(first.trim());
    await daemon.crash();
    const secret = await daemon.ok('GET', `${base}/secrets/s?reveal=true`);
    expect(secret).to.deep.include({ data: { k: 'sesame' }, version: 1 });
    expect(await uid()).to.equal(before);
    const again = await daemon.ok('POST', '/v1/admin/keys:rotate', {});
    expect(again.keyId).to.not.equal(done.keyId);
    // The stored value is compared in plaintext: the same value is not a change, although another key sealed it.
    await daemon.ok('PUT', `${base}/secrets/s`, { name: 's', data: { k: 'sesame' } });
    expect((await daemon.ok('GET', `${base}/secrets/s`)).version).to.equal(1);
  });

  it('needs a separate right', async () => {
    await daemon.ok('POST', '/v1/admin/users', { name: 'reader', policies: ['readonly'] });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'reader' });
    const refused = await daemon.rest('POST', '/v1/admin/keys:rotate', {}, String(token));
    expect(refused.status).to.equal(403);
  });
});
