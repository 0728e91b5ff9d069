import { type Clock, limits, TimeSlice } from '../../base/index.js';
import type { ApiObject, WatchBatch, WatchEvent } from '../../object/index.js';
import { Selection, type SelectionOptions } from '../index/selection.js';
import type { InitialSnapshot } from './initial-snapshots.js';

/**
 * Yields a snapshot as the start of a watch: batches of ADDED events, then the end mark.
 * @throws StatusError ResourceExhausted (SlowReader) if the snapshot was dropped
 */
export async function* initialBatches(
  snapshot: InitialSnapshot,
  options: SelectionOptions,
  revision: number,
  clock: Clock,
): AsyncIterable<WatchBatch<ApiObject>> {
  const selection = new Selection(options);
  const slice = new TimeSlice(clock);
  let events: WatchEvent<ApiObject>[] = [];
  let bytes = 0;
  for (let entry = snapshot.next(); entry; entry = snapshot.next()) {
    if (selection.has(entry)) {
      const { object, revision: since, size } = entry;
      events.push({ type: 'ADDED', object, revision: since, size });
      bytes += size;
    }
    if (events.length >= limits.watchBatchEvents || bytes >= limits.watchBatchBytes) {
      yield { revision, events, initial: 'more' };
      events = [];
      bytes = 0;
    }
    if (slice.due()) await slice.pause();
  }
  if (events.length > 0) yield { revision, events, initial: 'more' };
  yield { revision, events: [], initial: 'end' };
}
