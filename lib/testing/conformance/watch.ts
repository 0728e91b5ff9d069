import assert from 'node:assert/strict';
import { parseFieldSelector, parseLabelSelector } from '../../object/index.js';
import {
  type ConformanceTest,
  collect,
  creation,
  eventLines,
  events,
  key,
  others,
  refused,
  thing,
  things,
} from './subject.js';

/** The six watch rules, and selections. */
export const watchTests: readonly ConformanceTest[] = [
  {
    name: 'watch is ordered, unique and reliable: from any revision it delivers every later event once',
    body: async (store) => {
      const start = store.revision;
      for (let n = 0; n < 6; n += 1) await store.create(things, thing(`t${n}`, n));
      for (let from = 0; from < 6; from += 1) {
        const batches = await collect(store, { fromRevision: start + from }, events(6 - from));
        assert.deepEqual(
          batches.flatMap((b) => b.events.map((e) => (e.object as { value: number }).value)),
          [0, 1, 2, 3, 4, 5].slice(from),
        );
      }
    },
  },
  {
    name: 'watch is resumable: also after reopening',
    needs: ['durable'],
    body: async (store, reopen) => {
      const from = store.revision;
      await store.create(things, thing('a'));
      await store.updateStatus(things, key('a'), { seen: 1 });
      const again = await reopen();
      await again.deleteByName(things, key('a'));
      const batches = await collect(again, { fromRevision: from }, events(3));
      assert.deepEqual(eventLines(batches), ['ADDED a', 'MODIFIED a', 'DELETED a']);
    },
  },
  {
    name: 'watch is atomic: a revision is in one batch',
    body: async (store) => {
      const from = store.revision;
      const count = 700;
      await store.transact(Array.from({ length: count }, (_, n) => creation(`t${n}`)));
      const batches = await collect(store, { fromRevision: from }, events(count));
      assert.equal(batches.length, 1);
    },
  },
  {
    name: 'watch has bookmarks: each batch carries its revision, and a watch from the revision of a list misses no event',
    body: async (store) => {
      await store.create(things, thing('a'));
      const { revision } = await store.list(things);
      await store.create(others, thing('x'));
      await store.create(things, thing('b'));
      const batches = await collect(store, { fromRevision: revision }, events(1));
      assert.deepEqual(eventLines(batches), ['ADDED b']);
      assert.equal(batches.at(-1)?.revision, store.revision);
    },
  },
  {
    name: 'watch delivers the last state of a deleted object, and the new object after a recreation',
    body: async (store) => {
      const from = store.revision;
      const first = await store.create(things, thing('a', 1));
      await store.deleteByName(things, key('a'));
      const second = await store.create(things, thing('a', 2));
      const batches = await collect(store, { fromRevision: from }, events(3));
      const objects = batches.flatMap((b) => b.events.map((e) => e.object));
      assert.deepEqual(
        objects.map((o) => o.value),
        [1, 1, 2],
      );
      assert.equal(objects[1]?.metadata.uid, first.metadata.uid);
      assert.equal(objects[2]?.metadata.uid, second.metadata.uid);
    },
  },
  {
    name: 'watch from a future revision is OutOfRange',
    body: async (store) => {
      const { signal } = new AbortController();
      const watch = store.watch(things, { fromRevision: store.revision + 10, signal });
      await refused('OutOfRange', watch[Symbol.asyncIterator]().next() as Promise<unknown>);
    },
  },
  {
    name: 'watch from an invalid cursor is InvalidArgument, and from the cursor of a list it continues there',
    body: async (store) => {
      const { signal } = new AbortController();
      for (const cursor of ['', 'nonsense', '-1', '1.a.b']) {
        const watch = store.watch(things, { cursor, signal });
        await refused('InvalidArgument', watch[Symbol.asyncIterator]().next() as Promise<unknown>);
      }
      await store.create(things, thing('a'));
      const { revision, cursor = String(revision) } = await store.list(things);
      await store.create(things, thing('b'));
      assert.deepEqual(eventLines(await collect(store, { cursor }, events(1))), ['ADDED b']);
    },
  },
  {
    name: 'watch selects by namespace',
    body: async (store) => {
      const from = store.revision;
      await store.create(things, thing('a', 0, 'one'));
      await store.create(things, thing('a', 0, 'two'));
      const options = { fromRevision: from, namespace: 'two' };
      const batches = await collect(store, options, events(1));
      assert.equal(batches.at(-1)?.events[0]?.object.namespace, 'two');
    },
  },
  {
    name: 'watch with selectors reports an object that starts to match as ADDED, and one that stops matching as DELETED',
    body: async (store, reopen) => {
      const from = store.revision;
      const made = await store.create(things, { ...thing('a', 1), labels: { tier: 'web' } });
      const quiet = await store.create(things, thing('b', 1));
      const away = await store.update(things, { ...made, labels: {} });
      await store.update(things, { ...quiet, value: 2 });
      const back = await store.update(things, { ...away, labels: { tier: 'web' }, value: 3 });
      await store.update(things, { ...back, value: 4 });
      await store.deleteByName(things, key('a'));
      const expected = ['ADDED a', 'DELETED a', 'ADDED a', 'MODIFIED a', 'DELETED a'];
      const labels = parseLabelSelector('tier=web');
      const live = await collect(store, { fromRevision: from, labels }, events(5));
      assert.deepEqual(eventLines(live), expected);
      // After reopening the cache is empty: earlier states come from the log.
      const again = await reopen();
      const fromLog = await collect(again, { fromRevision: from, labels }, events(5));
      assert.deepEqual(eventLines(fromLog), expected);
      const fields = parseFieldSelector('value=3');
      const byField = await collect(again, { fromRevision: from, fields }, events(2));
      assert.deepEqual(eventLines(byField), ['ADDED a', 'DELETED a']);
    },
    needs: ['durable'],
  },
  {
    name: 'watch with selectors reports a deletion whose last write also changes the selected fields',
    body: async (store) => {
      const from = store.revision;
      const web = { ...thing('a'), labels: { tier: 'web' } };
      await store.create(things, web);
      await store.transact([
        { op: 'overwrite', kind: things, object: { ...web, labels: {} } },
        { op: 'deleteByName', kind: things, key: key('a') },
      ]);
      const held = { ...web, name: 'b', metadata: { finalizers: ['x/held'] } };
      await store.create(things, held);
      await store.deleteByName(things, key('b'));
      await store.overwrite(things, { ...held, labels: {}, metadata: { finalizers: [] } });
      const labels = parseLabelSelector('tier=web');
      const batches = await collect(store, { fromRevision: from, labels }, events(5));
      assert.deepEqual(eventLines(batches), [
        'ADDED a',
        'DELETED a',
        'ADDED b',
        'MODIFIED b',
        'DELETED b',
      ]);
    },
  },
  {
    name: 'watch can stream the initial list, mark its end and continue without a gap',
    body: async (store) => {
      await store.transact(Array.from({ length: 600 }, (_, n) => creation(`t${n}`, n)));
      const ended = (batches: readonly { readonly initial?: string }[]): boolean =>
        batches.at(-1)?.initial === 'end';
      let later: Promise<unknown> | undefined;
      const batches = await collect(store, { sendInitialEvents: true }, (seen) => {
        later ??= store.create(things, thing('later'));
        return seen.at(-1)?.initial === undefined;
      });
      await later;
      const initial = batches.filter((batch) => batch.initial === 'more');
      assert.equal(initial.flatMap((batch) => batch.events).length, 600);
      assert.ok(initial.length > 1);
      assert.equal(batches.filter((batch) => ended([batch])).length, 1);
      assert.deepEqual(eventLines(batches.slice(-1)), ['ADDED later']);
    },
  },
];
