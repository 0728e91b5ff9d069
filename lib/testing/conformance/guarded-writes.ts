import assert from 'node:assert/strict';
import { hasCode } from '../../base/index.js';
import type { Operation } from '../../store/index.js';
import { type ConformanceTest, key, refused, thing, things } from './subject.js';

/** Preconditions of updates and deletions, and calls without them. */
export const guardedWriteTests: readonly ConformanceTest[] = [
  {
    name: 'an update with a stale object is refused, and the newer state is kept',
    body: async (store) => {
      const made = await store.create(things, thing('a', 1));
      const reported = await store.updateStatus(things, key('a'), { seen: 5 });
      await refused('Aborted', store.update(things, { ...made, value: 2 }));
      const changed = await store.update(things, { ...reported, value: 3 });
      await refused('Aborted', store.update(things, { ...reported, value: 4 }));
      assert.deepEqual(await store.get(things, key('a')), changed);
      await store.deleteByName(things, key('a'));
      await refused('NotFound', store.update(things, { ...changed, value: 5 }));
    },
  },
  {
    name: 'an update or deletion of an object never affects another object of the same name',
    body: async (store) => {
      const first = await store.create(things, thing('a', 1));
      await store.deleteByName(things, key('a'));
      const second = await store.create(things, thing('a', 2));
      const { uid } = first.metadata;
      const metadata = { ...second.metadata, uid };
      await refused('Aborted', store.update(things, { ...second, value: 3, metadata }));
      await refused('Aborted', store.delete(things, first));
      await refused('Aborted', store.delete(things, { ...second, metadata }));
      assert.deepEqual(await store.get(things, key('a')), second);
      assert.equal((await store.delete(things, second)).metadata.uid, second.metadata.uid);
      assert.equal(await store.get(things, key('a')), undefined);
      await refused('NotFound', store.delete(things, second));
    },
  },
  {
    name: 'a deletion of an object that was read succeeds after later writes, unless it has a stricter precondition',
    body: async (store) => {
      const made = await store.create(things, thing('a', 1));
      await store.update(things, { ...made, value: 2 });
      const { resourceVersion } = made.metadata;
      await refused('Aborted', store.delete(things, made, { resourceVersion }));
      await refused('Aborted', store.deleteByName(things, key('a'), { resourceVersion }));
      await store.delete(things, made);
      assert.equal(await store.get(things, key('a')), undefined);
    },
  },
  {
    name: 'a status write applies only to the object and the version of its precondition',
    body: async (store) => {
      const made = await store.create(things, thing('a', 1));
      const { uid, resourceVersion } = made.metadata;
      const reported = await store.updateStatus(things, key('a'), { seen: 1 }, { resourceVersion });
      for (const precondition of [{ resourceVersion }, { uid: `${uid.slice(0, -4)}0000` }])
        await refused('Aborted', store.updateStatus(things, key('a'), { seen: 2 }, precondition));
      assert.deepEqual(await store.get(things, key('a')), reported);
      const { resourceVersion: now } = reported.metadata;
      await store.updateStatus(things, key('a'), { seen: 3 }, { uid, resourceVersion: now });
      assert.equal((await store.get(things, key('a')))?.seen, 3);
    },
  },
  {
    name: 'all fields of a precondition are checked, in any order',
    body: async (store) => {
      await store.create(things, thing('a', 1));
      const check = (fields: Readonly<Record<string, number>>): Promise<unknown> =>
        store.transact([{ op: 'check', kind: things, key: key('a'), precondition: { fields } }]);
      await store.updateStatus(things, key('a'), { seen: 5 });
      await check({ value: 1, seen: 5 });
      for (const fields of [
        { value: 1, seen: 6 },
        { seen: 6, value: 1 },
        { seen: 5, value: 2 },
      ])
        await refused('Aborted', check(fields));
    },
  },
  {
    name: 'overwrite replaces the stored object, and creates none',
    body: async (store) => {
      const made = await store.create(things, thing('a', 1));
      await store.update(things, { ...made, value: 2 });
      assert.equal((await store.overwrite(things, { ...made, value: 3 })).value, 3);
      assert.equal((await store.overwrite(things, thing('a', 4))).value, 4);
      await store.deleteByName(things, key('a'));
      const again = await store.create(things, thing('a', 5));
      const last = await store.overwrite(things, { ...made, value: 6 });
      assert.equal(last.value, 6);
      assert.equal(last.metadata.uid, again.metadata.uid);
      await refused('NotFound', store.overwrite(things, thing('b')));
    },
  },
  {
    name: 'an update or deletion without its guard is refused with the remedy',
    body: async (store) => {
      const made = await store.create(things, thing('a', 1));
      const without = (...fields: readonly string[]): typeof made => {
        const kept = Object.entries(made.metadata).filter(([field]) => !fields.includes(field));
        return { ...made, metadata: Object.fromEntries(kept) as unknown as typeof made.metadata };
      };
      const bare = thing('a', 2) as typeof made;
      for (const [attempt, field, remedy] of [
        [store.update(things, bare), 'metadata.uid', /call overwrite/],
        [store.update(things, without('uid')), 'metadata.uid', /call overwrite/],
        [
          store.update(things, without('resourceVersion')),
          'metadata.resourceVersion',
          /call overwrite/,
        ],
        [store.delete(things, bare), 'metadata.uid', /call deleteByName/],
        [
          store.transact([{ op: 'update', kind: things, object: bare } as unknown as Operation]),
          'metadata.uid',
          /call overwrite/,
        ],
        [
          store.transact([{ op: 'delete', kind: things, key: key('a') } as unknown as Operation]),
          'metadata.uid',
          /call deleteByName/,
        ],
      ] as const) {
        const error = await attempt.then(
          () => undefined,
          (e: unknown) => e,
        );
        assert.ok(hasCode(error, 'InvalidArgument'), String(error));
        assert.deepEqual(
          error.violations.map((violation) => violation.field),
          [field],
        );
        assert.match(error.message, remedy);
      }
      assert.deepEqual(await store.get(things, key('a')), made);
    },
  },
];
