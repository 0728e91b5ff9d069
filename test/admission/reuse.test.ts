import { volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { reachState } from 'kedge/testing';
import { ValidatedApi } from './validated-api.js';

const path = '/v1/namespaces/default/volumes';
const key = { namespace: 'default', name: 'v' };

describe('reuse of a Released volume', () => {
  let api: ValidatedApi;
  beforeEach(async () => {
    api = await ValidatedApi.start();
    const volume = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce' };
    await api.ok('POST', path, { ...volume, storageClassName: 'local' });
  });
  afterEach(() => api[Symbol.asyncDispose]());

  it('is refused as NotProvisioned without a handle, and does not change the volume', async () => {
    await reachState(api.store, volumes, key, 'Released', { driver: 'local', handle: '' });
    const { status, body } = await api.rest('POST', `${path}/v:reuse`, {});
    expect(status).to.equal(412);
    expect(JSON.stringify(body))
      .to.contain('"NotProvisioned"')
      .and.to.contain('was never provisioned')
      .and.to.contain('delete it and create it again');
    expect(await api.store.get(volumes, key)).to.include({ status: 'Released' });
  });

  it('makes it Available if it has a handle', async () => {
    await reachState(api.store, volumes, key, 'Released', { driver: 'local', handle: 'h' });
    expect(await api.ok('POST', `${path}/v:reuse`, {})).to.include({ status: 'Available' });
  });
});
