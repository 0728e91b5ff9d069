import { limits, StatusError } from '../../base/index.js';
import type { Engine } from '../engine/engine.js';
import type { Change } from '../index/selection.js';
import { LazyObject } from '../record/lazy-object.js';
import { decodeRecord } from '../record/record-codec.js';
import type { Published } from './watch-ring.js';

/**
 * Reads the revisions after `revision` from the log until a batch is full. Each is complete: the last one may exceed the
 * size of a batch.
 * @param visible the last revision that watchers may see
 * @throws StatusError DataLoss for a damaged record
 */
export async function readChanges(
  engine: Pick<Engine, 'scan'>,
  revision: number,
  visible: () => number,
): Promise<readonly Published[]> {
  const found: { revision: number; changes: Change[] }[] = [];
  let events = 0;
  let bytes = 0;
  for await (const chunk of engine.scan(revision)) {
    for (const raw of chunk) {
      if (raw.revision > visible()) return found;
      if (raw.index === 0) {
        if (events >= limits.watchBatchEvents || bytes >= limits.watchBatchBytes) return found;
        found.push({ revision: raw.revision, changes: [] });
      }
      const record = decodeRecord(raw);
      events += 1;
      bytes += record.size;
      const { kind, type, size } = record;
      const entry = new LazyObject(record.key, record, record.json);
      const predecessor = record.previous;
      found.at(-1)?.changes.push({ kind, type, entry, before: undefined, predecessor, size });
    }
  }
  return found;
}

/** The error for a missing revision of the log. */
export function logHole(revision: number): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'LogHole',
    message: `the store's log has a gap at revision ${revision}; restore the data directory from a backup`,
  });
}
