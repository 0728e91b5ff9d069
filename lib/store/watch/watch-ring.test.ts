import { expect } from 'chai';
import { limits } from '../../base/index.js';
import { LazyObject } from '../record/lazy-object.js';
import type { Change } from '../index/selection.js';
import { WatchRing } from './watch-ring.js';

function entry(revision: number, size: number): LazyObject {
  const origin = { revision, index: 0, checksum: 0, size, previous: undefined, at: 0 };
  return new LazyObject('thing', origin, '{}');
}

function change(revision: number, size: number, before: LazyObject | undefined): Change {
  const type = before ? 'MODIFIED' : 'ADDED';
  const made = { kind: 'Thing', type, entry: entry(revision, size), before, size };
  return { ...made, predecessor: undefined } as Change;
}

describe('ring of the last revisions', () => {
  it('is bounded by all bytes that it keeps, including those of previous states', () => {
    const ring = new WatchRing(0);
    const large = 1024 * 1024;
    // Each change is small, but keeps a large state alive.
    const revisions = (3 * limits.watchRingBytes) / large;
    for (let revision = 1; revision <= revisions; revision += 1) {
      const changes = [change(revision, 100, entry(revision - 1, large))];
      ring.push({ revision, changes });
      expect(ring.bytes).to.be.at.most(limits.watchRingBytes);
    }
    const held = ring.after(ring.start);
    const bytes = held
      .flatMap(({ changes }) => changes)
      .reduce((sum, { size, before }) => sum + size + (before?.size ?? 0), 0);
    expect(held.length).to.be.greaterThan(1);
    expect(ring.bytes).to.equal(bytes);
  });

  it('returns parts that are bounded by revisions and bytes, and always the next revision', () => {
    const ring = new WatchRing(0);
    const sizes = [100, 100, 100, 5_000, 100];
    sizes.forEach((size, at) =>
      ring.push({ revision: at + 1, changes: [change(at + 1, size, entry(at, 50))] }),
    );
    const after = (revision: number, count?: number, bytes?: number): readonly number[] =>
      ring.after(revision, count, bytes).map((published) => published.revision);
    expect(after(0)).to.deep.equal([1, 2, 3, 4, 5]);
    expect(after(1, 2)).to.deep.equal([2, 3]);
    expect(after(0, 5, 300), 'with the previous states').to.deep.equal([1, 2]);
    expect(after(0, 5, 299)).to.deep.equal([1]);
    expect(after(3, 5, 1), 'one that is larger').to.deep.equal([4]);
    expect(after(5, 5, 1)).to.deep.equal([]);
  });
});
