import { LazyObject } from '../record/lazy-object.js';
import type { ObjectIndex } from '../index/object-index.js';
import type { DecodedRecord } from '../record/record-codec.js';
import type { Change } from '../index/selection.js';
import type { WriteSet } from './write-set.js';

/** Groups records of the log into write sets, one per revision. */
export function changesOf(
  records: readonly DecodedRecord[],
  index: ObjectIndex,
): readonly WriteSet[] {
  const sets = new Map<number, Change[]>();
  const latest = new Map<string, LazyObject>();
  for (const record of records) {
    const { kind, type, key, size, revision } = record;
    const id = `${kind} ${key}`;
    const entry = new LazyObject(key, record, record.json);
    const before = latest.get(id) ?? index.get(kind, key);
    latest.set(id, entry);
    const changes = sets.get(revision) ?? [];
    changes.push({ kind, type, entry, before, predecessor: record.previous, size });
    sets.set(revision, changes);
  }
  return [...sets].map(([revision, changes]) => ({
    revision,
    changes,
    results: [],
    records: [],
    touches: [],
    bytes: 0,
  }));
}
