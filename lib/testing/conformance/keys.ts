import assert from 'node:assert/strict';
import { limits } from '../../base/index.js';
import type { ObjectKey } from '../../object/index.js';
import { type ConformanceTest, refused, things } from './subject.js';

const half = '\ud800';
const overlong = 'x'.repeat(limits.nameCharactersMax + 1);

/** Keys that no object may have. */
const impossible: readonly ObjectKey[] = [
  { name: 'a' },
  { namespace: '', name: 'a' },
  { namespace: 'a/b', name: 'c' },
  { namespace: 'a\n', name: 'c' },
  { namespace: overlong, name: 'c' },
  { namespace: 'a', name: '' },
  { namespace: 'a', name: overlong },
  { namespace: 'a', name: 'b\0' },
  { namespace: 'a', name: `b${half}` },
];

/** Invalid keys in reads and writes, and lists of namespaces without objects. */
export const keyTests: readonly ConformanceTest[] = [
  {
    name: 'an invalid key is refused by every read and write',
    body: async (store) => {
      for (const key of impossible) {
        const object = { value: 1, ...key } as { name: string; namespace: string; value: number };
        await refused('InvalidArgument', store.get(things, key));
        await refused('InvalidArgument', store.create(things, object));
        await refused('InvalidArgument', store.overwrite(things, object));
        await refused('InvalidArgument', store.updateStatus(things, key, { seen: 1 }));
        await refused('InvalidArgument', store.deleteByName(things, key));
        const absent = { op: 'check', kind: things, key, precondition: { exists: false } } as const;
        await refused('InvalidArgument', store.transact([absent]));
      }
      for (const namespace of ['', 'a/b'])
        await refused('InvalidArgument', store.list(things, { namespace }));
      assert.equal((await store.list(things)).items.length, 0);
    },
  },
  {
    name: 'a namespace without objects is listed as empty, also one whose name selects all namespaces in requests',
    needs: ['kindChecks'],
    body: async (store) => {
      await store.create(things, { namespace: 'default', name: 'a', value: 1 });
      assert.equal((await store.list(things, { namespace: '-' })).items.length, 0);
      for (const value of ['', '-', 'a/b', 'other'])
        assert.equal((await store.list(things, { index: 'namespace', value })).items.length, 0);
    },
  },
];
