import { expect } from 'chai';
import fc from 'fast-check';
import { type AnyKind, type ApiObject, defineKind } from '../object/index.js';
import { decodeRecord } from './record/record-codec.js';
import { MemoryEngine, modify, openStore, type Operation } from './index.js';

interface Thing extends ApiObject {
  readonly value?: number;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
  statusFields: [],
});
const anyThing = things as AnyKind;
const key = (name: string) => ({ namespace: 'default', name });
const thing = (name: string, value: number) => ({ ...key(name), value });

describe('store against a model', () => {
  const step = fc.record({
    op: fc.constantFrom('create', 'update', 'delete', 'reopen', 'pair', 'guarded', 'unseen'),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    value: fc.nat(9),
  });

  it('any sequence of writes and reopenings leaves the content of a map, and a log that replays to it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const engine = new MemoryEngine();
        let store = await openStore({ engine });
        const model = new Map<string, number>();
        for (const { op, name, value } of steps) {
          if (op === 'reopen') {
            await store.close();
            store = await openStore({ engine });
          } else if (op === 'create') {
            const expected = !model.has(name);
            const done = await store.create(things, thing(name, value)).then(
              () => true,
              () => false,
            );
            expect(done).to.equal(expected);
            if (done) model.set(name, value);
          } else if (op === 'update') {
            await modify(store, things, key(name), (o) => ({ ...o, value }));
            if (model.has(name)) model.set(name, value);
          } else if (op === 'guarded') {
            // For an even value, another write makes the guard stale.
            const seen = await store.get(things, key(name));
            if (value % 2 === 0) {
              await modify(store, things, key(name), (o) => ({ ...o, value: (o.value ?? 0) + 1 }));
              if (seen) model.set(name, (seen.value ?? 0) + 1);
            }
            const guard = seen && { uid: seen.metadata.uid, generation: seen.metadata.generation };
            const done = await store
              .transact([
                {
                  op: 'check',
                  kind: anyThing,
                  key: key(name),
                  precondition: guard ?? { exists: false },
                },
                { op: 'create', kind: anyThing, object: thing(`${name}-${store.revision}`, value) },
              ])
              .then(
                (results) => model.set(results[1]?.object.name ?? '', value).size > 0,
                () => false,
              );
            expect(done).to.equal(!seen || value % 2 === 1);
          } else if (op === 'unseen') {
            const { revision } = await store.list(things);
            const check = { op: 'checkKind', kind: anyThing, revision } as const;
            const inDefault = { ...check, index: 'namespace', value: 'default' } as const;
            const made = `${name}-${revision}`;
            // Two writers that did not see each other: the first one succeeds.
            const outcomes = await Promise.allSettled(
              [1, 2].map((n) =>
                store.transact([
                  inDefault,
                  { op: 'create', kind: anyThing, object: thing(`${made}-${n}`, value) },
                ]),
              ),
            );
            expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected']);
            model.set(`${made}-1`, value);
          } else if (op === 'delete') {
            const done = await store.deleteByName(things, key(name)).then(
              () => true,
              () => false,
            );
            expect(done).to.equal(model.delete(name));
          } else {
            const other = `${name}${name}`;
            const ops = [name, other].map(
              (n): Operation => ({ op: 'create', kind: anyThing, object: thing(n, value) }),
            );
            const done = await store.transact(ops).then(
              () => true,
              () => false,
            );
            expect(done).to.equal(!model.has(name) && !model.has(other));
            if (done) model.set(name, value).set(other, value);
          }
        }
        const listed = (await store.list(things)).items.map((o) => [o.name, o.value]);
        expect(listed).to.deep.equal([...model].sort(([a], [b]) => (a < b ? -1 : 1)));
        const replayed = new Map<string, number | undefined>();
        for await (const chunk of engine.scan(0)) {
          for (const record of chunk.map(decodeRecord)) {
            const object = JSON.parse(record.json) as Thing;
            if (record.type === 'DELETED') replayed.delete(object.name);
            else replayed.set(object.name, object.value);
          }
        }
        expect([...replayed].sort()).to.deep.equal([...model].sort());
        await store.close();
      }),
      { numRuns: 150 },
    );
  });
});
