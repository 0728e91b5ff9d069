import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon, workload } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('deletions of a running daemon end, or report what they wait for', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  beforeEach(async () => {
    daemon = await TestDaemon.start();
    await mkdir(join(daemon.home, 'host'), { recursive: true });
  });
  afterEach(() => daemon.dispose());

  const until = (path: string, status: string) =>
    eventually(`${path} ${status}`, async () => {
      const { body } = await daemon.rest('GET', path);
      return body.status === status ? body : undefined;
    });
  const gone = (path: string) =>
    eventually(`${path} gone`, async () => (await daemon.rest('GET', path)).status === 404);
  const hostVolume = (namespace: string, hostPath: string, name = 'v') =>
    daemon.ok('POST', `/v1/namespaces/${namespace}/volumes`, {
      name,
      storageClassName: 'local-host',
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      parameters: { hostPath },
    });
  const secret = (namespace: string, path: string) =>
    daemon.rest('POST', `/v1/namespaces/${namespace}/secrets`, {
      name: 'place',
      data: { path },
    });
  const condition = (body: Record<string, unknown>, type: string) =>
    (body.conditions as { type: string; reason: string; message: string }[]).find(
      (c) => c.type === type,
    );

  it('a volume whose secret never existed is deleted with its namespace, also after a kill', async () => {
    await daemon.ok('POST', '/v1/namespaces', { name: 'shop' });
    const path = '/v1/namespaces/shop/volumes/v';
    await hostVolume('shop', 'secret:place/path');
    await until(path, 'Failed');
    await daemon.crash();
    await daemon.ok('DELETE', '/v1/namespaces/shop?cascade=true');
    await gone('/v1/namespaces/shop');
  });

  it('a namespace that is being deleted accepts the secret that a driver needs, and no other', async () => {
    await daemon.ok('POST', '/v1/namespaces', { name: 'shop' });
    const path = '/v1/namespaces/shop/volumes/v';
    const missing = join(daemon.home, 'host', 'missing');
    expect((await secret('shop', missing)).status).to.equal(200);
    await hostVolume('shop', 'secret:place/path');
    await until(path, 'Failed');
    await daemon.ok('DELETE', '/v1/namespaces/shop/secrets/place');
    await daemon.ok('DELETE', '/v1/namespaces/shop?cascade=true');
    await eventually('the deletion to report what it waits for', async () => {
      const { body } = await daemon.rest('GET', path);
      // An attempt to provision it may report the same before its deletion is requested.
      const { deletionRequestedAt } = body.metadata as { readonly deletionRequestedAt?: string };
      const failure = String(body.failureMessage);
      return deletionRequestedAt && failure.includes('secret shop/place does not exist; create it');
    });
    const other = await daemon.rest('POST', '/v1/namespaces/shop/secrets', {
      name: 'other',
      data: { key: 'x' },
    });
    expect([other.status, other.body.reason]).to.deep.equal([412, 'NamespaceTerminating']);
    await daemon.crash();
    expect((await secret('shop', missing)).status).to.equal(200);
    await gone('/v1/namespaces/shop');
  });

  it('a namespace waits for the user of its volume, reports it, and is deleted after that user', async () => {
    for (const name of ['shop', 'till']) await daemon.ok('POST', '/v1/namespaces', { name });
    const path = '/v1/namespaces/shop/volumes/v';
    await mkdir(join(daemon.home, 'host', 'data'));
    await hostVolume('shop', join(daemon.home, 'host', 'data'));
    const { service } = workload(daemon, 'v', 'sleep 600');
    const volumes = [{ name: 'data', mountPath: '/data', claim: { name: 'v.shop.svc' } }];
    await daemon.ok('POST', '/v1/namespaces/till/services', { ...service, volumes });
    await until('/v1/namespaces/till/instances/v-0', 'Running');
    const { references } = await daemon.ok('GET', `${path}:describe`);
    expect(references, JSON.stringify(references)).to.deep.include({
      ...{ relation: 'used by', kind: 'Instance', namespace: 'till', name: 'v-0' },
      ...{ status: 'Running', detail: '' },
    });
    await daemon.ok('DELETE', '/v1/namespaces/shop?cascade=true');
    const remaining = () =>
      eventually('the condition', async () => {
        const { body } = await daemon.rest('GET', '/v1/namespaces/shop');
        return body.conditions ? condition(body, 'ContentRemaining') : undefined;
      });
    expect(await remaining()).to.include({
      reason: 'InUse',
      message:
        'waits for the deletion of its objects: volume "shop/v" is bound to till/v-0; delete the service or scale it down first',
    });
    await daemon.crash();
    expect((await daemon.ok('GET', path)).metadata).to.not.have.property('deletionRequestedAt');
    expect((await remaining()).reason).to.equal('InUse');
    expect((await daemon.ok('GET', '/v1/namespaces/till/instances/v-0')).status).to.equal(
      'Running',
    );
    await daemon.ok('DELETE', '/v1/namespaces/till/services/v');
    await gone('/v1/namespaces/shop');
  });

  it('a service is deleted although a missing secret prevents the attach of its volume, also after a kill', async () => {
    const host = join(daemon.home, 'host', 'data');
    await mkdir(host);
    await secret('default', host);
    await hostVolume('default', 'secret:place/path');
    await until(`${base}/volumes/v`, 'Available');
    await daemon.ok('DELETE', `${base}/secrets/place`);
    for (const restart of [false, true]) {
      const { service } = workload(daemon, 'v', 'sleep 600');
      await daemon.ok('POST', `${base}/services`, service);
      await eventually('the instance to wait for the secret', async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/v-0`);
        return body.conditions && condition(body, 'VolumesReady')?.reason === 'InvalidParameters';
      });
      expect((await daemon.ok('GET', `${base}/volumes/v`)).attachments).to.deep.equal([]);
      if (restart) await daemon.crash();
      await daemon.ok('DELETE', `${base}/services/v`);
      await gone(`${base}/services/v`);
    }
    await daemon.ok('DELETE', `${base}/volumes/v`);
    await gone(`${base}/volumes/v`);
  });

  it('a running service is deleted after a kill although the secret of its volume was deleted', async () => {
    const host = join(daemon.home, 'host', 'data');
    await mkdir(host);
    await secret('default', host);
    await hostVolume('default', 'secret:place/path');
    const { service } = workload(daemon, 'v', 'sleep 600');
    await daemon.ok('POST', `${base}/services`, service);
    await until(`${base}/instances/v-0`, 'Running');
    const refused = await daemon.rest('DELETE', `${base}/volumes/v`);
    expect(refused.status).to.equal(412);
    expect(refused.body.message).to.contain('is bound to default/v-0');
    await daemon.end('SIGKILL');
    await daemon.run();
    await daemon.ok('DELETE', `${base}/secrets/place`);
    await daemon.ok('DELETE', `${base}/services/v`);
    await gone(`${base}/services/v`);
    await until(`${base}/volumes/v`, 'Available');
  });
});
