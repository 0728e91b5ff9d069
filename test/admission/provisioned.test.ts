import { volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { ValidatedApi } from './validated-api.js';

const path = '/v1/namespaces/default';
const size = { size: '1Gi', accessMode: 'ReadWriteOnce' };

describe('the name of a volume, and its changes once it is provisioned', () => {
  let api: ValidatedApi;
  beforeEach(async () => {
    api = await ValidatedApi.start();
  });
  afterEach(() => api[Symbol.asyncDispose]());

  it('volume names of a claimTemplate are reserved for each of its replicas, and for no more', async () => {
    await api.ok('POST', `${path}/services`, {
      ...{ name: 's', runtime: 'container', image: 'busybox', scale: 3 },
      volumes: [
        { name: 'm', mountPath: '/m', claimTemplate: { ...size, storageClassName: 'local' } },
      ],
    });
    const make = (name: string) =>
      api.rest('POST', `${path}/volumes`, { ...size, name, storageClassName: 'local' });
    for (const name of ['m-s-1', 'm-s-2'])
      expect((await make(name)).body, name).to.include({ reason: 'NameTaken' });
    expect((await make('m-s-3')).status).to.equal(200);
  });

  it('parameters are immutable once the volume has a handle', async () => {
    const hostPath = (place: string) => ({ parameters: { hostPath: place } });
    await api.ok('POST', '/v1/storageclasses', {
      name: 'host',
      driver: 'local-host',
      ...hostPath('/data/a'),
    });
    const volume = { ...size, name: 'v', storageClassName: 'host' };
    await api.ok('POST', `${path}/volumes`, { ...volume, ...hostPath('/data/v') });
    const put = (place: string) =>
      api.rest('PUT', `${path}/volumes/v`, { ...volume, ...hostPath(place) });
    expect((await put('/data/w')).status).to.equal(200);
    const key = { namespace: 'default', name: 'v' };
    await api.store.updateStatus(volumes, key, {
      status: 'Provisioning',
      driver: 'local-host',
      handle: '/data/w',
    });
    const { status, body } = await put('/data/x');
    expect(status).to.equal(400);
    expect(JSON.stringify(body))
      .to.contain('parameters.hostPath')
      .and.to.contain('is immutable once the volume is provisioned');
    expect((await put('/data/w')).status).to.equal(200);
  });
});
