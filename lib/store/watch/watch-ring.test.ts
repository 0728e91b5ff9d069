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
    const held = ring.after(ring.start, Number.MAX_SAFE_INTEGER);
    const bytes = held
      .flatMap(({ changes }) => changes)
      .reduce((sum, { size, before }) => sum + size + (before?.size ?? 0), 0);
    expect(held.length).to.be.greaterThan(1);
    expect(ring.bytes).to.equal(bytes);
  });
});
