import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('restoring across namespaces', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const until = (path: string, status: string) =>
    eventually(`${path} ${status}`, async () => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      return body.status === status ? body : undefined;
    });

  it('restoring a snapshot into another namespace needs the rights to read it and to create the volume', async () => {
    await daemon.ok('POST', '/v1/namespaces', { name: 'other' });
    await daemon.ok('POST', `${base}/volumes`, {
      name: 'v',
      size: '2Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'local',
    });
    const source = String((await until('volumes/v', 'Available')).handle);
    await writeFile(join(source, 'file'), 'bytes');
    await daemon.ok('POST', `${base}/snapshots`, { name: 's', source: { volume: 'v' } });
    await until('snapshots/s', 'Ready');
    const rules = [
      { resources: ['snapshots'], verbs: ['get'], namespaces: ['default'] },
      { resources: ['volumes'], verbs: ['create', 'update'], namespaces: ['default'] },
      { resources: ['volumes'], verbs: ['create'], namespaces: ['other'] },
    ];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'here', rules: rules.slice(0, 2) });
    await daemon.ok('POST', '/v1/admin/policies', { name: 'both', rules });
    await daemon.ok('POST', '/v1/admin/policies', { name: 'there', rules: rules.slice(1) });
    const restore = async (policy: string) => {
      await daemon.ok('POST', '/v1/admin/users', { name: policy, policies: [policy] });
      const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: policy });
      const target = { name: 'copy', namespace: 'other', labels: { c: 'd' } };
      const path = `${base}/snapshots/s:restore`;
      return daemon.rest('POST', path, { volume: target }, String(token));
    };
    expect((await restore('here')).status).to.equal(403);
    expect((await restore('there')).status).to.equal(400);
    const made = await restore('both');
    expect(made.status, JSON.stringify(made.body)).to.equal(200);
    expect(made.body).to.deep.include({
      namespace: 'other',
      source: { snapshot: 's.default.svc' },
      labels: { c: 'd' },
    });
    const copy = await eventually('the copy', async () => {
      const { body } = await daemon.rest('GET', '/v1/namespaces/other/volumes/copy');
      return body.status === 'Available' ? String(body.handle) : undefined;
    });
    expect(await readFile(join(copy, 'file'), 'utf8')).to.equal('bytes');
    const { references } = await daemon.ok('GET', `${base}/snapshots/s:describe`);
    expect(references, JSON.stringify(references)).to.deep.include({
      ...{ relation: 'restored as', kind: 'Volume', namespace: 'other', name: 'copy' },
      ...{ status: 'Available', detail: '' },
    });
    await daemon.ok('DELETE', `${base}/snapshots/s`);
    await eventually('the snapshot to go', async () => {
      return (await daemon.rest('GET', `${base}/snapshots/s`)).status === 404;
    });
  });
});
