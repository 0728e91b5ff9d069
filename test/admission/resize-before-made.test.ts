import { volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { reachState } from 'kedge/testing';
import { ValidatedApi } from './validated-api.js';

const path = '/v1/namespaces/default/volumes';
const key = { namespace: 'default', name: 'v' };

describe('a volume of a driver that can not grow volumes', () => {
  let api: ValidatedApi;
  beforeEach(async () => {
    api = await ValidatedApi.start();
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

  it('can be resized before it is provisioned, and not after', async () => {
    expect((await resize()).status).to.equal(200);
    await reachState(api.store, volumes, key, 'Available', { driver: 'local-host', handle: 'h' });
    expect((await api.rest('POST', `${path}/v:resize`, { size: '3Gi' })).status).to.equal(412);
  });
});

describe('a volume that does not reach the requested size', () => {
  it('can be resized to its current size or more, and not below', async () => {
    await using api = await ValidatedApi.start();
    const size = { size: '999Ti', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    await api.ok('POST', path, { name: 'v', ...size });
    const resize = (to: string) => api.rest('POST', `${path}/v:resize`, { size: to });
    const before = await resize('2Gi');
    expect(before.status).to.equal(400);
    expect(before.body.message).to.contain('"2Gi" is less than "999Ti": a volume can only grow');
    const made = { driver: 'local', handle: 'h', sizeBytes: String(2 * 1024 ** 3) };
    await reachState(api.store, volumes, key, 'Available', made);
    const below = await resize('1Gi');
    expect(below.status).to.equal(400);
    expect(below.body.message).to.contain('"1Gi" is less than its current 2147483648 bytes');
    for (const to of ['3Gi', '2Gi']) expect((await resize(to)).status, to).to.equal(200);
  });
});
