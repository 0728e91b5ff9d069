import assert from 'node:assert/strict';
import { hasCode, StatusError } from '../../base/index.js';
import { isEmbedded, modify } from '../../store/index.js';
import {
  type ConformanceTest,
  collect,
  creation,
  events,
  key,
  refused,
  thing,
  things,
} from './subject.js';

const names = (objects: readonly { readonly name: string }[]): readonly string[] =>
  objects.map((object) => object.name);

/** Guarantees of reads and writes. */
export const readAndWriteTests: readonly ConformanceTest[] = [
  {
    name: 'G1 durable: resolved writes exist after reopening, with their versions',
    needs: ['durable'],
    body: async (store, reopen) => {
      const made = await store.create(things, thing('a', 1));
      const changed = await store.update(things, { ...made, value: 2 });
      await store.create(things, thing('b'));
      await store.deleteByName(things, key('b'));
      const before = store.revision;
      const again = await reopen();
      assert.equal(again.revision, before);
      assert.deepEqual(await again.get(things, key('a')), changed);
      assert.equal(await again.get(things, key('b')), undefined);
      assert.equal(again.storeId, store.storeId);
      assert.equal(again.clusterId, store.clusterId);
    },
  },
  {
    name: 'G1 durable: a read never shows a write before its promise resolves',
    needs: ['embedded'],
    body: async (store) => {
      const write = store.create(things, thing('a'));
      assert.equal(await store.get(things, key('a')), undefined);
      assert.deepEqual(names((await store.list(things)).items), []);
      await write;
      assert.notEqual(await store.get(things, key('a')), undefined);
    },
  },
  {
    name: 'G2 atomic: a transaction is one revision and one watch batch, or nothing',
    body: async (store) => {
      const from = store.revision;
      await store.transact([creation('a'), creation('b')]);
      const at = store.revision;
      const [batch] = await collect(store, { fromRevision: from }, events(2));
      assert.deepEqual(names(batch?.events.map((e) => e.object) ?? []), ['a', 'b']);
      assert.deepEqual(
        batch?.events.map((e) => e.revision),
        [at, at],
      );
      await refused('AlreadyExists', store.transact([creation('c'), creation('a')]));
      assert.equal(await store.get(things, key('c')), undefined);
      assert.equal(store.revision, at);
    },
  },
  {
    name: 'a refusal names its object',
    body: async (store) => {
      const made = await store.create(things, thing('a'));
      const current = await store.update(things, { ...made, value: 2 });
      const gone = { ...current, name: 'b' };
      const precondition = { exists: false } as const;
      const refusals = [
        store.transact([creation('c'), creation('a')]),
        store.transact([{ op: 'check', kind: things, key: key('a'), precondition }]),
        store.update(things, made),
        store.update(things, gone),
        store.delete(things, gone),
      ];
      for (const [at, refusal] of refusals.entries()) {
        const error: unknown = await refusal.catch((e: unknown) => e);
        assert.ok(error instanceof StatusError, `refusal ${at}`);
        const about = { kind: things.kind, ...key(at < 3 ? 'a' : 'b') };
        assert.deepEqual({ ...error.resource }, about, `refusal ${at}`);
      }
    },
  },
  {
    name: 'G2 atomic: an object that one transaction creates and deletes leaves no trace',
    body: async (store) => {
      await store.transact([
        creation('a'),
        { op: 'deleteByName', kind: things, key: key('a') },
        creation('b'),
      ]);
      assert.deepEqual(names((await store.list(things)).items), ['b']);
    },
  },
  {
    name: 'G3 serializable: exactly one of many writers with the same expected version succeeds',
    body: async (store) => {
      const made = await store.create(things, thing('a'));
      const results = await Promise.allSettled(
        Array.from({ length: 20 }, (_, value) =>
          store.update(things, { ...made, value: value + 1 }),
        ),
      );
      const losers = results.flatMap((r): unknown[] => (r.status === 'rejected' ? [r.reason] : []));
      assert.equal(losers.length, 19);
      assert.ok(losers.every((error) => hasCode(error, 'Aborted')));
    },
  },
  {
    name: 'G3 serializable: concurrent increments through modify lose none',
    body: async (store) => {
      await store.create(things, thing('a'));
      await Promise.all(
        Array.from({ length: 10 }, () =>
          modify(store, things, key('a'), (o) => ({ ...o, value: (o.value ?? 0) + 1 })),
        ),
      );
      assert.equal((await store.get(things, key('a')))?.value, 10);
    },
  },
  {
    name: 'G3 serializable: a check on fields guards the other writes of its transaction',
    body: async (store) => {
      await store.create(things, thing('lock', 7));
      const check = (value: number) =>
        ({
          op: 'check',
          kind: things,
          key: key('lock'),
          precondition: { fields: { value } },
        }) as const;
      await store.transact([check(7), creation('a')]);
      await refused('Aborted', store.transact([check(8), creation('b')]));
      assert.equal(await store.get(things, key('b')), undefined);
    },
  },
  {
    name: 'G5 monotonic: revisions increase and continue after reopening',
    needs: ['durable'],
    body: async (store, reopen) => {
      await store.create(things, thing('a'));
      await store.create(things, thing('b'));
      const before = store.revision;
      const again = await reopen();
      const made = await again.create(things, thing('c'));
      assert.ok(Number(made.metadata.resourceVersion) > before);
    },
  },
  {
    name: 'G5 monotonic: revisions are dense',
    needs: ['denseRevisions'],
    body: async (store) => {
      const start = store.revision;
      await Promise.all([1, 2, 3].map((n) => store.create(things, thing(`t${n}`))));
      await refused('AlreadyExists', store.create(things, thing('t1')));
      const made = await store.create(things, thing('t4'));
      assert.equal(made.metadata.resourceVersion, String(start + 4));
    },
  },
  {
    name: 'increments the generation for spec changes only, and an update does not change the status',
    body: async (store) => {
      const made = await store.create(things, thing('a'));
      const reported = await store.updateStatus(things, key('a'), { seen: 5 });
      assert.equal(reported.metadata.generation, made.metadata.generation);
      const changed = await store.update(things, { ...reported, value: 9, seen: 77 });
      assert.equal(changed.metadata.generation, 2);
      assert.equal(changed.seen, 5);
    },
  },
  {
    name: 'writes nothing when an update changes nothing',
    body: async (store) => {
      const made = await store.create(things, thing('a', 3));
      const at = store.revision;
      const again = await store.update(things, { ...made });
      assert.equal(again.metadata.resourceVersion, made.metadata.resourceVersion);
      assert.equal(store.revision, at);
    },
  },
  {
    name: 'keeps an object with finalizers until the last one is removed',
    body: async (store) => {
      const finalizers = ['x/one'];
      const made = await store.create(things, { ...thing('a'), metadata: { finalizers } });
      const marked = await store.deleteByName(things, key('a'));
      assert.equal(typeof marked.metadata.deletionRequestedAt, 'string');
      const metadata = { ...made.metadata, finalizers: ['x/one', 'x/two'] };
      await refused('FailedPrecondition', store.overwrite(things, { ...made, metadata }));
      await modify(store, things, key('a'), (o) => ({
        ...o,
        metadata: { ...o.metadata, finalizers: [] },
      }));
      assert.equal(await store.get(things, key('a')), undefined);
    },
  },
  {
    name: 'returns frozen objects',
    body: async (store) => {
      await store.create(things, { ...thing('a'), labels: { x: 'y' } });
      const found = await store.get(things, key('a'));
      assert.ok(Object.isFrozen(found) && Object.isFrozen(found?.labels));
    },
  },
  {
    name: 'refuses an object that is too large, and leaves no trace of it',
    body: async (store) => {
      const huge = { ...thing('a'), labels: { x: 'x'.repeat(1_600_000) } };
      await refused('InvalidArgument', store.create(things, huge));
      await store.create(things, thing('a'));
      assert.deepEqual(names((await store.list(things)).items), ['a']);
    },
  },
  {
    name: 'deletes an expired object, keeps one that expires later, and refuses an invalid expiry',
    body: async (store) => {
      const past = new Date(0).toISOString();
      const future = new Date(Date.UTC(9999, 0)).toISOString();
      await store.create(things, { ...thing('short'), metadata: { expiresAt: past } });
      const kept = await store.create(things, {
        ...thing('kept'),
        metadata: { expiresAt: future },
      });
      await collect(store, { fromRevision: 0 }, (batches) =>
        batches.some((batch) => batch.events.some((e) => e.type === 'DELETED')),
      );
      assert.deepEqual(names((await store.list(things)).items), ['kept']);
      assert.equal(kept.metadata.expiresAt, future);
      const metadata = { expiresAt: 'tomorrow' };
      await refused('InvalidArgument', store.create(things, { ...thing('x'), metadata }));
    },
  },
  {
    name: 'G6 integrity: verifies its own records',
    needs: ['embedded'],
    body: async (store) => {
      for (let n = 0; n < 20; n += 1) await store.create(things, thing(`t${n}`, n));
      await store.deleteByName(things, key('t3'));
      assert.ok(isEmbedded(store));
      const report = await store.verify();
      assert.equal(report.revision, store.revision);
      assert.equal(report.objects, 19);
    },
  },
  {
    name: 'refuses writes once closed, and can be closed again',
    body: async (store) => {
      await store.close();
      await refused('Unavailable', store.create(things, thing('a')));
      await store.close();
    },
  },
];
