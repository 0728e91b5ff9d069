import { volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { reachState } from 'kedge/testing';
import { JudgedApi } from './judged-api.js';

const path = '/v1/namespaces/default/volumes';
const key = { namespace: 'default', name: 'v' };

describe('a volume of a driver that can not grow volumes', () => {
  let api: JudgedApi;
  beforeEach(async () => {
    api = await JudgedApi.start();
    const volume = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce' };
    await api.ok('POST', '/v1/storageclasses', { name: 'c', driver: 'local-host' });
    await api.ok('POST', path, {
      ...volume,
      storageClassName: 'c',
      parameters: { hostPath: '/data/x' },
    });
  });
  afterEach(() => api[Symbol.asyncDispose]());
  const resize = (): Promise<{ readonly status: number }> =>
    api.rest('POST', `${path}/v:resize`, { size: '2Gi' });

  it('is made with a larger size where it was not made yet, and keeps its size once it was', async () => {
    expect((await resize()).status).to.equal(200);
    await reachState(api.store, volumes, key, 'Available', { driver: 'local-host', handle: 'h' });
    expect((await api.rest('POST', `${path}/v:resize`, { size: '3Gi' })).status).to.equal(412);
  });
});
