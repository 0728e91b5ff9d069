import { volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { reachState } from 'kedge/testing';
import { ValidatedApi } from './validated-api.js';

const path = '/v1/namespaces/default/volumes';
const volume = { size: '1Gi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };

describe('a volume beside those of services', () => {
  let api: ValidatedApi;
  beforeEach(async () => {
    api = await ValidatedApi.start();
  });
  afterEach(() => api[Symbol.asyncDispose]());

  it('may have the name of a replica beyond the scale of a service, and not of one within it', async () => {
    const claimTemplate = { size: '1Gi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    await api.ok('POST', '/v1/namespaces/default/services', {
      name: 'db',
      image: 'x',
      runtime: 'container',
      scale: 2,
      volumes: [{ name: 'data', mountPath: '/data', claimTemplate }],
    });
    const refused = await api.rest('POST', path, { ...volume, name: 'data-db-1' });
    expect(refused.body).to.include({ reason: 'NameTaken' });
    await api.ok('POST', path, { ...volume, name: 'data-db-2' });
  });

  it('can change its parameters only until it is provisioned', async () => {
    const put = (parameters: object) =>
      api.rest('PUT', `${path}/v`, { ...volume, name: 'v', parameters });
    await api.ok('POST', path, { ...volume, name: 'v', parameters: { backing: 'directory' } });
    expect((await put({ backing: 'image' })).status).to.equal(200);
    const key = { namespace: 'default', name: 'v' };
    await reachState(api.store, volumes, key, 'Available', { driver: 'local', handle: 'h' });
    const refused = await put({ backing: 'directory' });
    expect(refused.status).to.equal(400);
    expect(JSON.stringify(refused.body)).to.contain('immutable once the volume is provisioned');
  });
});
