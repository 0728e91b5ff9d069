import { expect } from 'chai';
import { ValidatedApi } from './validated-api.js';
import { call } from './looking-rule.js';

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `n${n}`);
const entries = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(names(count).map((name) => [name, 'v']));

/**
 * The lists of an object with the highest limits. The limits exist because a list is processed in one turn of the event
 * loop.
 */
const bounds: readonly {
  readonly what: string;
  readonly plural: string;
  readonly max: number;
  readonly body: (count: number) => Readonly<Record<string, unknown>>;
}[] = [
  {
    what: 'data',
    plural: 'secrets',
    max: 1_000,
    body: (count) => ({ data: entries(count) }),
  },
  {
    what: 'data',
    plural: 'configmaps',
    max: 1_000,
    body: (count) => ({ data: entries(count) }),
  },
  {
    what: 'labels',
    plural: 'configmaps',
    max: 1_000,
    body: (count) => ({ labels: entries(count) }),
  },
  {
    what: 'metadata.annotations',
    plural: 'configmaps',
    max: 1_000,
    body: (count) => ({ metadata: { annotations: entries(count) } }),
  },
  {
    what: 'env',
    plural: 'services',
    max: 1_000,
    body: (count) => ({ env: entries(count) }),
  },
  {
    what: 'envFrom',
    plural: 'services',
    max: 100,
    body: (count) => ({ envFrom: names(count).map((secret) => ({ secret })) }),
  },
  {
    what: 'volumes',
    plural: 'services',
    max: 256,
    body: (count) => ({
      volumes: names(count).map((name) => ({
        name,
        mountPath: `/m/${name}`,
        claimTemplate: { storageClassName: 'local', size: '1Gi', accessMode: 'ReadWriteOnce' },
      })),
    }),
  },
  {
    what: 'secretMounts',
    plural: 'services',
    max: 256,
    body: (count) => ({
      secretMounts: names(count).map((name) => ({ name, mountPath: `/m/${name}` })),
    }),
  },
  {
    what: 'configmapMounts',
    plural: 'services',
    max: 256,
    body: (count) => ({
      configmapMounts: names(count).map((name) => ({ name, mountPath: `/m/${name}` })),
    }),
  },
  {
    what: 'configmapMounts[0].items',
    plural: 'services',
    max: 1_000,
    body: (count) => ({
      configmapMounts: [
        { name: 'c', mountPath: '/c', items: names(count).map((path) => ({ key: 'k', path })) },
      ],
    }),
  },
];

describe('the lists of one object', function () {
  this.timeout(180_000);
  for (const { what, plural, max, body } of bounds)
    it(`${what} of ${plural}: ${max}, and one more is refused with the number`, async () => {
      await using api = await ValidatedApi.start();
      const own = plural === 'services' ? { image: 'a' } : {};
      const create = (name: string, count: number) =>
        call(api, {
          method: 'POST',
          path: `/v1/namespaces/default/${plural}`,
          body: { name, ...own, ...body(count) },
        });
      const refused = await create('more', max + 1);
      expect(refused.status).to.equal(400);
      expect(refused.body.message).to.equal(
        `${what}: has ${max + 1} entries, and at most ${max} are allowed`,
      );
      expect((await create('most', max)).status).to.equal(200);
    });

  it('unknown fields: the first hundred are reported, with the number of the others', async () => {
    await using api = await ValidatedApi.start();
    const { status, body } = await call(api, {
      method: 'POST',
      path: '/v1/namespaces/default/configmaps',
      body: { name: 'c', ...entries(5_000) },
    });
    expect(status).to.equal(400);
    expect(body.message).to.match(/^n0: is not a field of this object; check the spelling/);
    expect(body.message).to.match(/\(object\): and 4900 more that are not listed$/);
  });
});
