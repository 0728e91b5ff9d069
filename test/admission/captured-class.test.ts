import { storageClasses, volumes } from '@kedge/controllers';
import { expect } from 'chai';
import { type Answer, ValidatedApi } from './validated-api.js';

const path = '/v1/namespaces/default/volumes';
const volume = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce' };
const key = { namespace: 'default', name: 'v' };

function expectViolation({ status, body }: Answer, field: string, message: RegExp): void {
  expect(status, JSON.stringify(body)).to.equal(400);
  const details = body.details as {
    readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[];
  }[];
  const found = details.flatMap(({ fieldViolations = [] }) => fieldViolations);
  const about = found.filter((violation) => violation.field.endsWith(field));
  expect(about.map(({ description }) => description).join('; ')).to.match(message);
}

describe('a volume and its class', () => {
  let api: ValidatedApi;
  beforeEach(async () => {
    api = await ValidatedApi.start();
  });
  afterEach(() => api[Symbol.asyncDispose]());

  /** A volume whose class was deleted by force; `captured` is the copy that its controller stored. */
  async function orphan(driver: string, fields: object, captured: object): Promise<void> {
    const parameters = driver === 'local-host' ? { hostPath: '/data/x' } : {};
    await api.ok('POST', '/v1/storageclasses', { name: 'gone', driver, parameters });
    await api.ok('POST', path, { ...volume, storageClassName: 'gone', ...fields });
    if (Object.keys(captured).length > 0) await api.store.updateStatus(volumes, key, captured);
    await api.ok('DELETE', '/v1/storageclasses/gone?force=true');
  }
  const put = (fields: object): Promise<Answer> =>
    api.rest('PUT', `${path}/v`, { ...volume, storageClassName: 'gone', ...fields });
  const provisioned = (driver: string, driverParameters: object = {}): object => ({
    driver,
    driverParameters,
    handle: 'h',
    status: 'Provisioning',
    effectiveReclaimPolicy: 'retain',
  });

  for (const [way, make] of [
    ['PUT', (object: object) => api.rest('PUT', `${path}/v`, object)],
    [
      'cast',
      (object: object) => api.rest('POST', '/v1/cast', { objects: [{ kind: 'Volume', object }] }),
    ],
  ] as const)
    it(`a ${way} of one that exists can't name a class that does not exist`, async () => {
      await api.ok('POST', path, { ...volume, storageClassName: 'local' });
      const before = await api.store.get(volumes, key);
      const evil = { hostPath: '/etc' };
      const answer = await make({
        ...volume,
        storageClassName: 'mistyped',
        size: '1',
        reclaimPolicy: 'delete',
        parameters: { ...evil, token: 'secret:s.other.svc/k' },
      });
      expectViolation(answer, 'storageClassName', /"mistyped" does not exist/);
      expect(await api.store.get(volumes, key)).to.deep.equal(before);
    });

  it('a volume of a class that does not exist yet can not refer to a secret', async () => {
    const parameters = { region: 'r', apiToken: 'secret:token.infra.svc/k' };
    const written = { ...volume, storageClassName: 'later', parameters };
    const answer = await api.rest('POST', path, written, 'clerk');
    expectViolation(answer, 'storageClassName', /"later" does not exist/);
    expect(await api.store.get(volumes, key)).to.equal(undefined);
    const later = { name: 'later', driver: 'cloud1-volume', parameters: { region: 'r' } };
    await api.ok('POST', '/v1/storageclasses', later);
    const judged = await api.rest('POST', path, written, 'clerk');
    expectViolation(judged, 'parameters.apiToken', /namespace infra.*not permitted to read/);
  });

  it('without its class, :resize is validated by the captured driver', async () => {
    await orphan('local-host', {}, provisioned('local-host', { hostPath: '/data/x' }));
    const { status, body } = await api.rest('POST', `${path}/v:resize`, { size: '2Gi' });
    expect(status).to.equal(412);
    expect(body).to.include({ reason: 'ExpandUnsupported' });
  });

  it('without its class, a volume can still grow if its driver supports it', async () => {
    await orphan('local', {}, provisioned('local'));
    const grown = await api.ok('POST', `${path}/v:resize`, { size: '2Gi' });
    expect(grown).to.include({ size: '2Gi', storageClassName: 'gone' });
  });

  it('without its class, the rules of the driver hold at every write', async () => {
    await orphan('local-host', {}, provisioned('local-host', { hostPath: '/data/x' }));
    expectViolation(await put({ parameters: { hostPath: '/etc' } }), 'parameters.hostPath', /./);
    expectViolation(await put({ reclaimPolicy: 'delete' }), 'reclaimPolicy', /never deleted/);
    expectViolation(await put({ size: '1Mi' }), 'size', /only grow/);
    expectViolation(
      await put({ parameters: { createIfMissing: 'secret:broken' } }),
      'parameters.createIfMissing',
      /./,
    );
    expect((await put({ labels: { kept: 'yes' } })).status).to.equal(200);
  });

  it('a later class of the same name does not apply to volumes of an earlier one', async () => {
    await orphan('local', {}, provisioned('local'));
    await api.store.create(storageClasses, { name: 'gone', driver: 'local-host' });
    expect((await put({ size: '2Gi' })).status).to.equal(200);
  });

  it('a volume for which no driver was called can name another class once its own was deleted', async () => {
    await orphan('local', {}, {});
    expectViolation(
      await put({}),
      'storageClassName',
      /"gone" does not exist; create it, or use another/,
    );
    expectViolation(await put({ storageClassName: 'typo' }), 'storageClassName', /"typo" does not/);
    const mended = await put({ storageClassName: 'local' });
    expect(mended.body).to.include({ storageClassName: 'local' });
  });

  it('a volume for which a driver was called keeps its class', async () => {
    await orphan('local', {}, { driver: 'local', status: 'Provisioning' });
    expectViolation(await put({ storageClassName: 'local' }), 'storageClassName', /is immutable/);
  });

  it('a snapshot of a volume whose driver is not registered is refused, and the message names the driver', async () => {
    await orphan('local', {}, provisioned('elsewhere'));
    const snapshot = { name: 's', source: { volume: 'v' } };
    const answer = await api.rest('POST', '/v1/namespaces/default/snapshots', snapshot);
    expectViolation(answer, 'source.volume', /driver elsewhere, which is not registered/);
  });

  it('a snapshot of a volume without its class is validated by the captured driver', async () => {
    await orphan('local-host', {}, provisioned('local-host', { hostPath: '/data/x' }));
    const snapshot = { name: 's', source: { volume: 'v' } };
    const answer = await api.rest('POST', '/v1/namespaces/default/snapshots', snapshot);
    expectViolation(answer, 'source.volume', /driver local-host, which does not support snapshots/);
  });
});

describe('apiTokenSecretRef', () => {
  let api: ValidatedApi;
  beforeEach(async () => {
    api = await ValidatedApi.start();
    await api.ok('POST', '/v1/storageclasses', {
      name: 'cloud',
      driver: 'cloud1-volume',
      parameters: { region: 'r' },
    });
  });
  afterEach(() => api[Symbol.asyncDispose]());

  const writes: readonly (readonly [string, (value: string, token?: string) => Promise<Answer>])[] =
    [
      [
        'a class',
        (value, token) =>
          api.rest(
            'POST',
            '/v1/storageclasses',
            { name: 'c', driver: 'cloud1-volume', parameters: parameters(value) },
            token,
          ),
      ],
      [
        'a volume',
        (value, token) =>
          api.rest(
            'POST',
            path,
            { ...volume, storageClassName: 'cloud', parameters: parameters(value) },
            token,
          ),
      ],
      [
        'a claimTemplate',
        (value, token) =>
          api.rest('POST', '/v1/namespaces/default/services', serviceOf(value), token),
      ],
    ];
  const parameters = (value: string): object => ({ region: 'r', apiTokenSecretRef: value });
  const serviceOf = (value: string): object => ({
    name: 's',
    image: 'x',
    volumes: [
      {
        name: 'm',
        mountPath: '/m',
        claimTemplate: {
          storageClassName: 'cloud',
          size: '1Gi',
          accessMode: 'ReadWriteOnce',
          parameters: parameters(value),
        },
      },
    ],
  });

  for (const [what, write] of writes) {
    for (const value of ['foo', 'a/b/c', '/b', 'A/b', 'secret:a.b.svc/k'])
      it(`${value} in ${what} is refused because of its form`, async () => {
        const form = /has the form <namespace>\/<secret-name>/;
        expectViolation(await write(value), 'parameters.apiTokenSecretRef', form);
      });

    it(`in ${what} needs the right to read secrets in its namespace`, async () => {
      const refused = await write('infra/token', 'clerk');
      expectViolation(
        refused,
        'parameters.apiTokenSecretRef',
        /namespace infra.*not permitted to read/,
      );
      expect((await write('infra/token')).status).to.equal(200);
    });
  }
});
