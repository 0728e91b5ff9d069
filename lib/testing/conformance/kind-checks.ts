import assert from 'node:assert/strict';
import { hasCode } from '../../base/index.js';
import { type AnyKind, namespaceIndex } from '../../object/index.js';
import { type KindCheck, modify, type ObjectStore } from '../../store/index.js';
import {
  type ConformanceTest,
  creation,
  key,
  others,
  refused,
  type Thing,
  thing,
  things,
} from './subject.js';

const underValue = (revision: number, value: number): KindCheck => ({
  op: 'checkKind',
  kind: things,
  revision,
  index: 'value',
  value: String(value),
});
const inNamespace = (revision: number, value: string): KindCheck => ({
  op: 'checkKind',
  kind: things,
  revision,
  index: namespaceIndex,
  value,
});
const anyOther = (revision: number): KindCheck => ({ op: 'checkKind', kind: others, revision });

/** The names of the checks that fail now. */
async function failing(
  store: ObjectStore,
  checks: Readonly<Record<string, KindCheck>>,
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [name, check] of Object.entries(checks)) {
    const [outcome] = await Promise.allSettled([store.transact([check])]);
    if (outcome.status === 'fulfilled') continue;
    const error: unknown = outcome.reason;
    assert.ok(hasCode(error, 'Aborted') && error.reason === 'Conflict');
    failed.push(name);
  }
  return failed;
}

/** Checks of transactions other than object versions, and lists by index. */
export const kindCheckTests: readonly ConformanceTest[] = [
  {
    name: 'a check of the generation fails after a change of the spec, not after one of status or finalizers',
    body: async (store) => {
      const { metadata } = await store.create(things, thing('a', 1));
      const { uid, generation } = metadata;
      const precondition = { uid, generation, deleting: false } as const;
      const check = { op: 'check', kind: things, key: key('a'), precondition } as const;
      await store.updateStatus(things, key('a'), { seen: 5 });
      await store.transact([check, creation('b')]);
      await modify(store, things, key('a'), (o) => ({
        ...o,
        metadata: { ...o.metadata, finalizers: ['x/one'] },
      }));
      await store.transact([check, creation('c')]);
      await modify(store, things, key('a'), (o) => ({ ...o, value: 2 }));
      await refused('Aborted', store.transact([check, creation('d')]));
      await refused(
        'InvalidArgument',
        store.transact([{ ...check, precondition: { generation: 0 } }]),
      );
      assert.equal(await store.get(things, key('d')), undefined);
    },
  },
  {
    name: 'a deletion request for an object with finalizers raises its generation, and fails a check that the object is not being deleted',
    body: async (store) => {
      const finalizers = ['x/one'];
      const made = await store.create(things, { ...thing('a'), metadata: { finalizers } });
      const precondition = { uid: made.metadata.uid, deleting: false } as const;
      const check = { op: 'check', kind: things, key: key('a'), precondition } as const;
      await store.transact([check]);
      const marked = await store.deleteByName(things, key('a'));
      assert.equal(marked.metadata.generation, made.metadata.generation + 1);
      const again = await store.deleteByName(things, key('a'));
      assert.equal(again.metadata.generation, marked.metadata.generation);
      await refused('Aborted', store.transact([check, creation('b')]));
      const gone = await store.create(things, thing('c'));
      const last = await store.deleteByName(things, key('c'));
      assert.equal(last.metadata.generation, gone.metadata.generation);
    },
  },
  {
    name: 'a failed precondition is reported by the paths of its fields, never by their values',
    body: async (store) => {
      await store.create(things, thing('a', 4711));
      const fields = { value: 815, seen: 0 };
      const error = await store
        .transact([{ op: 'check', kind: things, key: key('a'), precondition: { fields } }])
        .catch((e: unknown) => e);
      assert.ok(hasCode(error, 'Aborted') && error.reason === 'Conflict', String(error));
      assert.match(error.message, /\bvalue\b/);
      assert.doesNotMatch(error.message, /4711|815|seen/);
    },
  },
  {
    name: 'a check of a kind fails after a creation, change and deletion of any of its objects, not after a status write',
    needs: ['kindChecks'],
    body: async (store) => {
      const { revision: empty } = await store.list(others);
      await store.create(things, thing('a'));
      assert.deepEqual(await failing(store, { empty: anyOther(empty) }), []);
      await store.create(others, thing('o', 1));
      const { revision: made } = await store.list(others);
      const since = { empty: anyOther(empty), made: anyOther(made) };
      assert.deepEqual(await failing(store, since), ['empty']);
      await store.updateStatus(others, key('o'), { seen: 9 });
      assert.deepEqual(await failing(store, since), ['empty']);
      await modify(store, others, key('o'), (o) => ({ ...o, labels: { tier: 'gold' } }));
      assert.deepEqual(await failing(store, since), ['empty', 'made']);
      const { revision: labelled } = await store.list(others);
      await store.deleteByName(others, key('o'));
      assert.deepEqual(await failing(store, { labelled: anyOther(labelled) }), ['labelled']);
    },
  },
  {
    name: 'a check by index fails for the value before a change and the value after it, and for no other',
    needs: ['kindChecks'],
    body: async (store) => {
      await store.create(things, thing('a', 1));
      const { revision } = await store.list(things);
      const checks = {
        one: underValue(revision, 1),
        two: underValue(revision, 2),
        three: underValue(revision, 3),
        home: inNamespace(revision, 'home'),
        default: inNamespace(revision, 'default'),
      };
      assert.deepEqual(await failing(store, checks), []);
      await modify(store, things, key('a'), (o) => ({ ...o, value: 2 }));
      assert.deepEqual(await failing(store, checks), ['one', 'two', 'default']);
      await store.create(things, thing('b', 3, 'home'));
      assert.deepEqual(await failing(store, checks), ['one', 'two', 'three', 'home', 'default']);
    },
  },
  {
    name: 'a status write fails a check by index only if it changes the index values of the object',
    needs: ['kindChecks'],
    body: async (store) => {
      await store.create(things, thing('a', 1));
      const { revision } = await store.list(things);
      const bySeen = (value: string): KindCheck => ({
        op: 'checkKind',
        kind: things,
        revision,
        index: 'seen',
        value,
      });
      const checks = {
        none: bySeen('no'),
        some: bySeen('yes'),
        value: underValue(revision, 1),
        namespace: inNamespace(revision, 'default'),
      };
      await store.updateStatus(things, key('a'), { seen: 0 });
      assert.deepEqual(await failing(store, checks), []);
      await store.updateStatus(things, key('a'), { seen: 7 });
      assert.deepEqual(await failing(store, checks), ['none', 'some']);
      const { revision: later } = await store.list(things);
      await store.updateStatus(things, key('a'), { seen: 8 });
      assert.deepEqual(await failing(store, { some: { ...bySeen('yes'), revision: later } }), []);
    },
  },
  {
    name: 'one of two concurrent creations with a check of the kind is refused',
    needs: ['kindChecks'],
    body: async (store) => {
      const { revision } = await store.list(things);
      const outcomes = await Promise.allSettled(
        ['a', 'b'].map((name) => store.transact([underValue(revision, 5), creation(name, 5)])),
      );
      const errors = outcomes.flatMap((o): unknown[] =>
        o.status === 'rejected' ? [o.reason] : [],
      );
      assert.equal(errors.length, 1);
      assert.ok(hasCode(errors[0], 'Aborted'), String(errors[0]));
      assert.equal((await store.list(things)).items.length, 1);
    },
  },
  {
    name: 'a check of a kind compares the state before its transaction, at any position in it',
    needs: ['kindChecks'],
    body: async (store) => {
      const { revision } = await store.list(things);
      await store.transact([creation('a', 5), underValue(revision, 5), creation('b', 5)]);
      assert.equal((await store.list(things)).items.length, 2);
    },
  },
  {
    name: 'an invalid check of a kind is refused, and its transaction writes nothing',
    needs: ['kindChecks'],
    body: async (store) => {
      const { revision } = await store.list(things);
      const wrong: readonly KindCheck[] = [
        { op: 'checkKind', kind: things, revision },
        { op: 'checkKind', kind: things, revision, index: 'colour', value: 'red' },
        { op: 'checkKind', kind: things, revision, index: 'value' } as unknown as KindCheck,
        { op: 'checkKind', kind: others, revision, value: '1' } as unknown as KindCheck,
        anyOther(revision + 10),
        anyOther(Number.NaN),
        { ...underValue(revision, 1), value: 'x'.repeat(2_000) } as KindCheck,
      ];
      for (const check of wrong)
        await refused('InvalidArgument', store.transact([check, creation('a')]));
      assert.equal(await store.get(things, key('a')), undefined);
    },
  },
  {
    name: 'a list by index returns the objects with the value, also of status fields, with other selectors and in pages',
    needs: ['kindChecks'],
    body: async (store) => {
      for (const [at, name] of ['a', 'b', 'c', 'd'].entries())
        await store.create(things, thing(name, at % 2, at < 3 ? 'default' : 'home'));
      const names = async (options: Parameters<ObjectStore['list']>[1]): Promise<string> =>
        (await store.list<Thing>(things, options)).items.map(({ name }) => name).join('');
      const odd = { index: 'value', value: '1' } as const;
      assert.equal(await names({ index: 'value', value: '0' }), 'ac');
      assert.equal(await names(odd), 'bd');
      assert.equal(await names({ ...odd, namespace: 'home' }), 'd');
      assert.equal(await names({ index: namespaceIndex, value: 'default' }), 'abc');
      assert.equal(await names({ index: 'value', value: '7' }), '');
      await store.updateStatus(things, key('b'), { seen: 3 });
      assert.equal(await names({ index: 'seen', value: 'yes' }), 'b');
      const first = await store.list(things, { ...odd, limit: 1 });
      await store.deleteByName(things, key('d', 'home'));
      const { nextPageToken: pageToken } = first;
      const second = await store.list(things, { ...odd, limit: 1, pageToken });
      assert.deepEqual(
        [...first.items, ...second.items].map(({ name }) => name),
        ['b', 'd'],
      );
      assert.equal(await names(odd), 'b');
      const other = { index: 'value', value: '0', pageToken } as const;
      await refused('InvalidArgument', store.list(things, other));
      const anyThing: AnyKind = things;
      await refused('InvalidArgument', store.list(anyThing, { index: 'x', value: '' }));
    },
  },
  {
    name: 'a write for which an index function throws is refused, and the error names index, kind and key',
    needs: ['kindChecks'],
    body: async (store) => {
      const error = await store.create(things, thing('a', -1)).catch((e: unknown) => e);
      assert.ok(
        hasCode(error, 'InvalidArgument') && error.reason === 'NotIndexable',
        String(error),
      );
      assert.match(error.message, /Thing "default\/a".*index "value"/);
      await store.create(things, thing('a', 1));
      await refused(
        'InvalidArgument',
        modify(store, things, key('a'), (o) => ({ ...o, value: -1 })),
      );
      assert.equal((await store.list(things, { index: 'value', value: '1' })).items.length, 1);
    },
  },
];
