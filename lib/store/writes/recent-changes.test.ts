import { expect } from 'chai';
import fc from 'fast-check';
import type { KeptIndex } from '../index/kept-indexes.js';
import { RecentChanges, type Touch } from './recent-changes.js';

const touch: Touch = { statusOnly: false, indexed: [] };
const values = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

describe('recent changes', () => {
  it('never miss a change, regardless of dropped values, and refuse unchanged ones only if they are older', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...values), { maxLength: 60 }),
        fc.integer({ min: 2, max: 6 }),
        (written, bound) => {
          const start = 10;
          const recent = new RecentChanges(start, bound);
          const last = new Map<string, number>();
          for (const [at, value] of written.entries()) {
            const revision = start + 1 + at;
            recent.note('Thing', value, touch, revision);
            last.set(value, revision);
            expect(recent.size).to.be.at.most(bound);
            expect(recent.ofKind('Thing')).to.deep.equal({ revision, exact: true });
            for (const asked of values) {
              const found = recent.ofValue('Thing', undefined, asked);
              const known = last.get(asked) ?? start;
              if (found.exact) expect(found.revision).to.equal(known);
              else expect(found.revision).to.be.at.least(known);
              // At least as many values as fit into half of the limit are known.
              const since = new Set(written.slice(last.get(asked) ? known - start - 1 : 0, at + 1));
              if (last.has(asked) && since.size <= bound / 2) expect(found.exact).to.equal(true);
            }
          }
        },
      ),
    );
  });

  it('are bounded in characters too', () => {
    const recent = new RecentChanges(0, 1_000, 4_000);
    for (let n = 1; n <= 100; n += 1) recent.note('Thing', `${n} ${'x'.repeat(500)}`, touch, n);
    expect(recent.size).to.be.at.most(8);
    expect(recent.ofValue('Thing', undefined, 'y').revision).to.be.within(90, 100);
  });

  it('of an index affect the values before and after; of a status only if its values move', () => {
    const recent = new RecentChanges(0);
    const index = { name: 'byNode', floor: 0 } as KeptIndex;
    const of = (value: string) => recent.ofValue('Thing', index, value);
    const note = (statusOnly: boolean, before: string[], after: string[], revision: number) =>
      recent.note(
        'Thing',
        undefined,
        { statusOnly, indexed: [{ index, before, after }] },
        revision,
      );
    note(false, ['a'], ['b'], 1);
    expect(of('a')).to.deep.equal({ revision: 1, exact: true });
    expect(of('b')).to.deep.equal({ revision: 1, exact: true });
    note(true, ['b', 'c'], ['b', 'd'], 2);
    expect(of('b')).to.deep.equal({ revision: 1, exact: true });
    expect(of('c')).to.deep.equal({ revision: 2, exact: true });
    expect(of('d')).to.deep.equal({ revision: 2, exact: true });
  });

  it('of an index with unknown values affect all of its values', () => {
    const recent = new RecentChanges(0);
    const index = { name: 'byNode', floor: 0 } as KeptIndex;
    const known = { index, before: ['a'], after: ['a'] };
    recent.note('Thing', undefined, { statusOnly: false, indexed: [known] }, 1);
    const before = { index, before: undefined, after: ['b'] };
    recent.note('Thing', undefined, { statusOnly: false, indexed: [before] }, 2);
    expect(recent.ofValue('Thing', index, 'a')).to.deep.equal({ revision: 2, exact: false });
    expect(recent.ofValue('Thing', index, 'b')).to.deep.equal({ revision: 2, exact: true });
  });

  it('from before the store was opened are unknown: earlier reads are refused', () => {
    const recent = new RecentChanges(7);
    expect(recent.ofKind('Thing')).to.deep.equal({ revision: 7, exact: false });
    recent.note('Thing', 'a', touch, 9);
    recent.reset(8);
    expect(recent.ofKind('Thing')).to.deep.equal({ revision: 8, exact: false });
    expect(recent.ofValue('Thing', undefined, 'a')).to.deep.equal({ revision: 8, exact: false });
  });
});
