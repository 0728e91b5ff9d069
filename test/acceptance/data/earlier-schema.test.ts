import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { type DaemonManifest, fixtureManifest, unpackFixture } from '../../fixtures/unpack.js';
import { TestDaemon } from '../daemon.js';

const fixture = 'schema-2/daemon';
const base = '/v1/namespaces/default';

describe('a data directory that a daemon with schema version 2 left', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let manifest: DaemonManifest;
  before(async () => {
    manifest = await fixtureManifest<DaemonManifest>(fixture);
    daemon = await TestDaemon.start({
      arguments: ['--node-name', 'node-1'],
      environment: { KEDGE_STORAGE_HOST_PATH_ALLOWLIST: '/usr/share' },
      bootstrap: false,
      prepare: (data) => unpackFixture(fixture, data),
    });
    daemon.token = manifest.tokens.root;
  });
  after(() => daemon.dispose());

  it('starts with every object it had', async () => {
    for (const [path, names] of Object.entries(manifest.listed)) {
      const found = (await daemon.list(path)).map((item) => String(item.name)).sort();
      expect(found, path).to.deep.equal(names);
    }
  });

  it('accepts its tokens with the same rights', async () => {
    const whoami = async (token: string): Promise<unknown> =>
      (await daemon.rest('GET', '/v1/auth/whoami', undefined, token)).body.subject;
    for (const [subject, token] of Object.entries(manifest.tokens))
      expect(await whoami(token)).to.equal(subject);
    const { storekeeper, reader } = manifest.tokens;
    const get = async (path: string, token: string): Promise<number> =>
      (await daemon.rest('GET', `${base}/${path}`, undefined, token)).status;
    expect(await get('volumes/shared', storekeeper)).to.equal(200);
    expect(await get('services/reader', storekeeper)).to.equal(403);
    expect(await get('services/reader', reader)).to.equal(200);
  });

  it('does not accept its tokens for a later user of the same name', async () => {
    const whoami = async (): Promise<number> =>
      (await daemon.rest('GET', '/v1/auth/whoami', undefined, manifest.tokens.storekeeper)).status;
    expect(await whoami()).to.equal(200);
    const account = await daemon.ok('GET', '/v1/admin/users/storekeeper');
    await daemon.ok('DELETE', '/v1/admin/users/storekeeper');
    const { name, policies } = account;
    await daemon.ok('POST', '/v1/admin/users', { name, policies });
    expect(await whoami()).to.equal(401);
  });

  it('opens all sealed values: the secret, and each parameter of classes and volumes', async () => {
    const { name, data } = manifest.secret;
    const secret = await daemon.ok('GET', `${base}/secrets/${name}?reveal=true`);
    expect(secret.data).to.deep.equal(data);
    // A rotation opens and reseals everything sealed; it fails if it can't open a value.
    const { resealed } = await daemon.ok('POST', '/v1/admin/keys:rotate', {});
    expect(Number(resealed)).to.be.at.least(5);
  });

  it('has its volumes: the bound one bound and in use, the local one with its files', async () => {
    const { bound, local } = manifest;
    await eventually('its instance', async () => {
      const instance = await daemon.ok('GET', `${base}/instances/reader-0`);
      return instance.status === 'Running';
    });
    const volume = await daemon.ok('GET', `${base}/volumes/${bound.name}`);
    expect((volume.metadata as { uid: string }).uid).to.equal(bound.uid);
    expect(volume).to.include({ status: 'Bound', handle: bound.handle });
    const other = await daemon.ok('GET', `${base}/volumes/${local.name}`);
    expect(other.status).to.equal('Available');
    const file = join(daemon.data, 'volumes', local.uid, local.file);
    expect(await readFile(file, 'utf8')).to.equal(local.content);
  });

  it('has its volumes on the node that was observed to hold them', async () => {
    for (const { name } of [manifest.bound, manifest.local])
      await eventually(`volume ${name} to have its node`, async () => {
        const { topology } = await daemon.ok('GET', `${base}/volumes/${name}`);
        return (topology as Record<string, string> | undefined)?.['svc.io/node'] === 'node-1';
      });
  });

  it('reported the path of the copy, which includes the key, and the rollback steps', async () => {
    const copy = join(daemon.data, 'schema-2-copy');
    const notice = daemon.log
      .split('\n')
      .find((line) => line.startsWith('kedged: the database was'));
    expect(notice).to.contain(copy).and.contain('To go back').and.contain('db, high-water, kek');
    expect(await readFile(join(copy, 'kek'), 'utf8')).to.match(/^\S{44}\n$/);
  });
});
