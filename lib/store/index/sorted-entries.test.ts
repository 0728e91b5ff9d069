import { expect } from 'chai';
import fc from 'fast-check';
import { SortedEntries } from './sorted-entries.js';

interface Entry {
  readonly key: string;
  readonly value: number;
}

describe('sorted entries', () => {
  const step = fc.record({
    op: fc.constantFrom('set', 'set', 'set', 'delete', 'snapshot'),
    key: fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom('a', 'b', '/', '-', 'z') }),
    value: fc.nat(),
  });

  it('equal a sorted map, and snapshots never change', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const entries = new SortedEntries<Entry>();
        const model = new Map<string, number>();
        const content = () =>
          [...model]
            .map(([key, value]) => ({ key, value }))
            .sort((a, b) => (a.key < b.key ? -1 : 1));
        const taken: { snapshot: readonly (readonly Entry[])[]; expected: readonly Entry[] }[] = [];
        for (const { op, key, value } of steps) {
          if (op === 'set') {
            entries.set({ key, value });
            model.set(key, value);
          } else if (op === 'delete') {
            entries.delete(key);
            model.delete(key);
          } else {
            taken.push({ snapshot: entries.snapshot(), expected: content() });
          }
        }
        expect(entries.size).to.equal(model.size);
        expect(entries.snapshot().flat()).to.deep.equal(content());
        for (const prefix of ['a', 'a/', 'b-', 'z'])
          expect(entries.snapshotOf(prefix).flat()).to.deep.equal(
            content().filter((entry) => entry.key.startsWith(prefix)),
          );
        for (const { snapshot, expected } of taken) expect(snapshot.flat()).to.deep.equal(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('share the chunks of a prefix with its snapshots, which later changes do not affect', () => {
    const entries = new SortedEntries<Entry>();
    for (let value = 0; value < 3_000; value += 1)
      entries.set({ key: `${['a', 'b', 'c'][value % 3]}/${value}`, value });
    const ofB = entries.snapshotOf('b/');
    expect(ofB.flat()).to.have.length(1_000);
    const again = entries.snapshotOf('b/');
    expect(ofB.filter((chunk) => again.includes(chunk)).length).to.be.above(0);
    const before = ofB.flat();
    for (let value = 1; value < 3_000; value += 3) entries.set({ key: `b/${value}`, value: -1 });
    for (let value = 1; value < 1_500; value += 3) entries.delete(`b/${value}`);
    expect(ofB.flat()).to.deep.equal(before);
    expect(entries.snapshotOf('b/').flat()).to.have.length(500);
  });

  it('store many thousands in chunks, in any order of insertion', () => {
    const entries = new SortedEntries<Entry>();
    const keys = Array.from({ length: 5_000 }, (_, n) => `k${(n * 7919) % 5_000}`);
    for (const [value, key] of keys.entries()) entries.set({ key, value });
    expect(entries.snapshot().length).to.be.greaterThan(8);
    expect(
      entries
        .snapshot()
        .flat()
        .map((e) => e.key),
    ).to.deep.equal([...keys].sort());
    for (const key of keys) entries.delete(key);
    expect(entries.snapshot()).to.deep.equal([]);
  });
});
