import { randomBytes } from 'node:crypto';
import { Sealer, secrets, storageClasses } from '@kedge/controllers';
import { expect } from 'chai';
import { ValidatedApi } from './validated-api.js';

/** Seals with a key that the API does not have. */
const lost = new Sealer(randomBytes(32));
const sealed = (): string => lost.seal('old', 'somewhere');
const path = '/v1/namespaces/default/secrets/s';

describe('a value that was sealed with a lost key', () => {
  let api: ValidatedApi;

  beforeEach(async () => {
    api = await ValidatedApi.start();
    const data = { a: sealed(), b: sealed() };
    await api.store.create(secrets, { namespace: 'default', name: 's', data, version: 3 });
  });

  afterEach(() => api[Symbol.asyncDispose]());

  const revealed = async (): Promise<unknown> => (await api.ok('GET', `${path}?reveal=true`)).data;

  it('is replaced by a write of all values', async () => {
    expect((await api.rest('GET', `${path}?reveal=true`)).status).to.equal(500);
    await api.ok('PUT', path, { data: { a: 'new', b: 'newer' } });
    expect(await revealed()).to.deep.equal({ a: 'new', b: 'newer' });
  });

  it('is kept by a write of other values, and removed by one that omits it', async () => {
    const before = await api.store.get(secrets, { namespace: 'default', name: 's' });
    const masked = (await api.ok('GET', path)).data;
    await api.ok('PUT', path, { data: masked, labels: { team: 'x' } });
    const after = await api.store.get(secrets, { namespace: 'default', name: 's' });
    expect([after?.data, after?.version]).to.deep.equal([before?.data, 3]);
    await api.ok('PUT', path, { data: { c: 'new' } });
    expect(await revealed()).to.deep.equal({ c: 'new' });
  });

  it('can not be kept beside a new one, and the refusal names the remedy', async () => {
    const { a } = (await api.ok('GET', path)).data as { readonly a: string };
    const refusal = await api.rest('PUT', path, { data: { a, b: 'new' } });
    expect(refusal.status).to.equal(400);
    const text = JSON.stringify(refusal.body);
    expect(text).to.contain('data.a').and.to.contain('set the value, omit the key');
    expect(text).to.not.contain('data.b');
  });

  it('can have a key that is also a property of every JavaScript object', async () => {
    const data = { constructor: sealed(), b: sealed() };
    await api.store.create(secrets, { namespace: 'default', name: 't', data, version: 1 });
    const url = '/v1/namespaces/default/secrets/t';
    const masked = (await api.ok('GET', url)).data as typeof data;
    const refusal = await api.rest('PUT', url, { data: { ...masked, b: 'new' } });
    expect(refusal.status).to.equal(400);
    expect(JSON.stringify(refusal.body)).to.contain('data.constructor');
    await api.ok('POST', '/v1/namespaces/default/secrets', {
      name: 'u',
      data: { toString: 'x' },
    });
    await api.ok('PUT', '/v1/namespaces/default/secrets/u', {
      data: { toString: masked.b, valueOf: 'x' },
    });
  });

  it('is replaced in a storage class', async () => {
    const parameters = { location: 'x', apiToken: sealed() };
    const object = { name: 'c', driver: 'cloud2-volume', parameters };
    await api.store.create(storageClasses, { ...object, reclaimPolicy: 'retain' });
    const url = '/v1/storageclasses/c';
    const given = await api.ok('GET', url);
    await api.ok('PUT', url, { ...given, parameters: { location: 'x', apiToken: 'new' } });
    const after = await api.store.get(storageClasses, { name: 'c' });
    expect(after?.parameters?.['apiToken']).to.match(/^kedge-sealed:/);
    expect(after?.parameters?.['apiToken']).to.not.equal(parameters.apiToken);
  });
});
