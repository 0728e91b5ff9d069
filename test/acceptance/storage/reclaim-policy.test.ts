import { expect } from 'chai';
import { ApiClient } from 'kedge/client';
import { apiSchemas } from '@kedge/api/client';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const path = '/v1/namespaces/default/volumes';

describe('the reclaim policy in answers', () => {
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
    for (const [name, fields] of [
      ['kept', {}],
      ['deleted', { reclaimPolicy: 'delete' }],
    ] as const)
      await daemon.ok('POST', '/v1/storageclasses', { name, driver: 'local', ...fields });
  });
  after(() => daemon.dispose());

  const volume = (name: string, fields: object): object => ({
    name,
    size: '1Mi',
    accessMode: 'ReadWriteOnce',
    ...fields,
  });
  function expectPolicy(answer: unknown, policy: string): void {
    expect(answer).to.include({ reclaimPolicy: policy, effectiveReclaimPolicy: policy });
  }

  for (const [storageClassName, own, policy] of [
    ['kept', undefined, 'retain'],
    ['deleted', undefined, 'delete'],
    ['deleted', 'retain', 'retain'],
    ['kept', 'delete', 'delete'],
  ] as const)
    it(`is ${policy} in each answer, for a volume with policy ${own ?? 'unset'} of class ${storageClassName}`, async () => {
      const name = `${storageClassName}-${own ?? 'unset'}`;
      const fields = { storageClassName, ...(own ? { reclaimPolicy: own } : {}) };
      const asked = volume(name, fields);
      expectPolicy(await daemon.ok('POST', `${path}?dryRun=true`, asked), policy);
      expectPolicy(await daemon.ok('POST', path, asked), policy);
      expectPolicy(await daemon.ok('GET', `${path}/${name}`), policy);
      expectPolicy(
        (await daemon.list(path)).find((item) => item.name === name),
        policy,
      );
      const [seen] = await daemon.events(
        `${path}?watch=true&fieldSelector=name%3D${name}`,
        undefined,
        (events) => events.some(({ data }) => data.object),
      );
      expectPolicy(seen?.data.object, policy);
      using client = new ApiClient({
        server: daemon.grpcAddress,
        token: daemon.token,
        schemas: apiSchemas(),
        packageName: 'api',
      });
      const where = { namespace: 'default', name };
      expectPolicy(await client.call('VolumeService.Get', where), policy);
      const objects = [{ kind: 'Volume', object: volume(`${name}-cast`, fields) }];
      await daemon.ok('POST', '/v1/cast', { objects });
      expectPolicy(await daemon.ok('GET', `${path}/${name}-cast`), policy);
      expectPolicy(await daemon.ok('PUT', `${path}/${name}`, asked), policy);
    });

  it('follows a change of the volume at once, and is kept when its class is changed or deleted', async () => {
    await daemon.ok('POST', '/v1/storageclasses', { name: 'edited', driver: 'local' });
    await daemon.ok('POST', path, volume('a', { storageClassName: 'edited' }));
    await eventually(
      'a to be provisioned',
      async () => (await daemon.ok('GET', `${path}/a`)).status === 'Available',
    );
    const edited = { name: 'edited', driver: 'local', reclaimPolicy: 'delete' };
    await daemon.ok('PUT', '/v1/storageclasses/edited', edited);
    expectPolicy(await daemon.ok('GET', `${path}/a`), 'retain');
    await daemon.ok('DELETE', '/v1/storageclasses/edited?force=true');
    expectPolicy(await daemon.ok('GET', `${path}/a`), 'retain');
    const own = volume('a', { storageClassName: 'edited', reclaimPolicy: 'delete' });
    expectPolicy(await daemon.ok('PUT', `${path}/a`, own), 'delete');
  });

  it('is that of the class for volumes that a service creates', async () => {
    const claimTemplate = { storageClassName: 'deleted', size: '1Mi', accessMode: 'ReadWriteOnce' };
    await daemon.ok('POST', '/v1/namespaces/default/services', {
      name: 's',
      image: 'none',
      volumes: [{ name: 'data', mountPath: '/data', claimTemplate }],
    });
    const [made] = await daemon
      .events(`${path}?watch=true`, undefined, (events) =>
        events.some(
          ({ data }) => (data.object as { name?: string } | undefined)?.name === 'data-s-0',
        ),
      )
      .then((events) =>
        events.filter(({ data }) => (data.object as { name?: string })?.name === 'data-s-0'),
      );
    expectPolicy(made?.data.object, 'delete');
  });

  it('of whenDeleted applies to unused volumes when their service is deleted', async () => {
    const service = '/v1/namespaces/default/services/unused';
    const scale = 12;
    const made = async (): Promise<Record<string, unknown>[]> =>
      (await daemon.list(path)).filter(({ name }) => String(name).startsWith('data-unused-'));
    await daemon.ok('POST', '/v1/namespaces/default/services', {
      name: 'unused',
      image: 'none',
      scale,
      volumes: [
        {
          name: 'data',
          mountPath: '/data',
          claimTemplate: {
            storageClassName: 'deleted',
            size: '1Mi',
            accessMode: 'ReadWriteOnce',
            retention: { whenDeleted: 'retain' },
          },
        },
      ],
    });
    await eventually('its volumes to be provisioned', async () => {
      const volumes = await made();
      return volumes.length === scale && volumes.every(({ status }) => status === 'Available');
    });
    await daemon.ok('DELETE', service);
    await eventually(
      'the service to be gone',
      async () => (await daemon.rest('GET', service)).status === 404,
    );
    await eventually('its volumes to be released', async () =>
      (await made()).every(({ status }) => status === 'Released'),
    );
    const kept = await made();
    expect(kept).to.have.length(scale);
    for (const volume of kept) expectPolicy(volume, 'retain');
  });
});
