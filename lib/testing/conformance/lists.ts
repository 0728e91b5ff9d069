import assert from 'node:assert/strict';
import { parseFieldSelector, parseLabelSelector } from '../../object/index.js';
import { type ConformanceTest, key, others, refused, thing, things } from './subject.js';

const names = (objects: readonly { readonly name: string }[]): readonly string[] =>
  objects.map((object) => object.name);

/** Guarantees of lists and their pages. */
export const listTests: readonly ConformanceTest[] = [
  {
    name: 'lists by exact namespace and by kind: prod never sees production',
    body: async (store) => {
      await store.create(things, thing('a', 1, 'prod'));
      await store.create(things, thing('a', 2, 'production'));
      await store.create(things, thing('a', 3, 'prod-2'));
      await store.create(others, thing('a', 4, 'prod'));
      const { items } = await store.list(things, { namespace: 'prod' });
      assert.deepEqual(
        items.map((o) => o.value),
        [1],
      );
    },
  },
  {
    name: 'lists by labels and by fields',
    body: async (store) => {
      await store.create(things, { ...thing('a', 1), labels: { tier: 'web' } });
      await store.create(things, { ...thing('b', 2), labels: { tier: 'web' } });
      await store.create(things, thing('c', 2));
      const labels = parseLabelSelector('tier=web');
      const fields = parseFieldSelector('value=2');
      assert.deepEqual(names((await store.list(things, { labels })).items), ['a', 'b']);
      assert.deepEqual(names((await store.list(things, { fields })).items), ['b', 'c']);
      assert.deepEqual(names((await store.list(things, { labels, fields })).items), ['b']);
    },
  },
  {
    name: 'pages show one revision during concurrent writes, also with a selector',
    body: async (store) => {
      for (const n of ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
        await store.create(things, thing(n, n === 'b' ? 1 : 2));
      const fields = parseFieldSelector('value=2');
      const seen: string[] = [];
      const revisions = new Set<number>();
      let pageToken = '';
      do {
        const page = await store.list(things, { limit: 2, pageToken, fields });
        seen.push(...names(page.items));
        revisions.add(page.revision);
        ({ nextPageToken: pageToken } = page);
        if (seen.length === 2) {
          await store.deleteByName(things, key('d'));
          await store.create(things, thing('cc', 2));
        }
      } while (pageToken !== '');
      assert.deepEqual(seen, ['a', 'c', 'd', 'e', 'f', 'g']);
      assert.equal(revisions.size, 1);
      await refused('InvalidArgument', store.list(things, { pageToken: 'nonsense' }));
    },
  },
  {
    name: 'a page token is valid only for a list with the same kind, namespace and selector',
    body: async (store) => {
      for (const namespace of ['one', 'two'])
        for (const n of ['a', 'b', 'c']) await store.create(things, thing(n, 1, namespace));
      const fields = parseFieldSelector('value=1');
      const own = { namespace: 'one', fields };
      const { nextPageToken: pageToken } = await store.list(things, { ...own, limit: 1 });
      const other = parseFieldSelector('value!=1');
      for (const options of [{ ...own, namespace: 'two' }, { fields }, { ...own, fields: other }])
        await refused('InvalidArgument', store.list(things, { ...options, pageToken }));
      await refused('InvalidArgument', store.list(others, { ...own, pageToken }));
      for (let again = 0; again < 2; again += 1)
        assert.deepEqual(names((await store.list(things, { ...own, pageToken })).items), [
          'b',
          'c',
        ]);
    },
  },
  {
    name: 'a page ends before the object that would exceed its size, and contains at least one',
    body: async (store) => {
      const size = 400;
      for (const n of ['a', 'b', 'c', 'd'])
        await store.create(things, { ...thing(n), labels: { text: 'x'.repeat(size) } });
      for (const [pageBytes, sizes] of [
        [1, [1, 1, 1, 1]],
        [3 * size, [1, 1, 1, 1]],
        [6 * size, [3, 1]],
        [100 * size, [4]],
      ] as const) {
        const seen: number[] = [];
        let pageToken = '';
        do {
          const page = await store.list(things, { pageBytes, pageToken });
          seen.push(page.items.length);
          ({ nextPageToken: pageToken } = page);
        } while (pageToken !== '');
        assert.deepEqual(seen, sizes, `pages of ${pageBytes} bytes`);
      }
    },
  },
];
