import { namespaces, volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { reachState } from 'kedge/testing';
import { ValidatedApi } from './validated-api.js';

const path = '/v1/namespaces/doomed/volumes';
const key = { namespace: 'doomed', name: 'v' };
const asked = { askedAt: '2026-01-01T00:00:00.000Z' };

describe('a volume that is being deleted', () => {
  let api: ValidatedApi;
  let body: Record<string, unknown>;
  beforeEach(async () => {
    api = await ValidatedApi.start();
    await api.ok('POST', '/v1/namespaces', { name: 'doomed' });
    body = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    body = { ...body, reclaimPolicy: 'delete' };
    await api.ok('POST', path, body);
    await reachState(api.store, volumes, key, 'Available', { driver: 'local', handle: 'h' });
    await api.ok('DELETE', `${path}/v`);
  });
  afterEach(() => api[Symbol.asyncDispose]());

  const generation = async (): Promise<number> =>
    (await api.store.get(volumes, key))!.metadata.generation;
  const begins = async (): Promise<void> => {
    const dataDeletion = { ...asked, generation: await generation() };
    await api.store.updateStatus(volumes, key, { dataDeletion });
  };
  const retain = (): Promise<{ status: number; body: Record<string, unknown> }> =>
    api.rest('PUT', `${path}/v`, { ...body, reclaimPolicy: 'retain' });

  it('can get another policy while its namespace is being deleted, if nothing else is changed', async () => {
    await api.ok('POST', path, { ...body, name: 'other' });
    await api.ok('DELETE', '/v1/namespaces/doomed?cascade=true');
    expect(await api.store.get(namespaces, { name: 'doomed' })).to.have.nested.property(
      'metadata.deletionRequestedAt',
    );
    expect(await retain()).to.deep.include({ status: 200 });
    const other = await api.rest('PUT', `${path}/other`, {
      ...body,
      name: 'other',
      reclaimPolicy: 'retain',
    });
    const made = await api.rest('POST', path, { ...body, name: 'new' });
    for (const refused of [other, made]) {
      expect(refused.status).to.equal(412);
      expect(JSON.stringify(refused.body)).to.contain('NamespaceTerminating');
    }
  });

  it('keeps its policy while its driver may be deleting the data, and reports since when', async () => {
    await begins();
    const { status, body: answer } = await retain();
    expect(status).to.equal(412);
    expect(JSON.stringify(answer)).to.contain('DataDeletionBegun').and.to.contain(asked.askedAt);
    expect((await api.store.get(volumes, key))?.reclaimPolicy).to.equal('delete');
    // Writes that do not change the policy, such as one of a credential, are allowed.
    expect((await api.rest('PUT', `${path}/v`, body)).status).to.equal(200);
  });

  it('can get another policy once its driver answered that it deleted nothing', async () => {
    await begins();
    const call = { call: 'delete', startedAt: '2026-01-01T00:00:01.000Z', nextTryAt: '' };
    const refused = { ...call, outcome: 'PermissionDenied', message: 'no' };
    await api.store.updateStatus(volumes, key, { lastOperation: refused });
    expect((await retain()).status).to.equal(200);
  });

  it('is validated again if the deletion of the data begins before the policy is stored', async () => {
    const hold = api.hold();
    const written = retain();
    await hold.judged;
    await begins();
    hold.release();
    expect(await written).to.deep.include({ status: 412 });
    expect((await api.store.get(volumes, key))?.reclaimPolicy).to.equal('delete');
  });
});
