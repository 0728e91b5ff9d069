import { type Clock, limits, TimeSlice } from '../../base/index.js';
import type { ApiObject, WatchBatch, WatchEvent } from '../../object/index.js';
import type { LazyObject } from '../record/lazy-object.js';
import { Selection, type SelectionOptions } from '../index/selection.js';

/** Yields a snapshot as the start of a watch: batches of ADDED events, then the end mark. */
export async function* initialBatches(
  chunks: readonly (readonly LazyObject[])[],
  options: SelectionOptions,
  revision: number,
  clock: Clock,
): AsyncIterable<WatchBatch<ApiObject>> {
  const selection = new Selection(options);
  const slice = new TimeSlice(clock);
  let events: WatchEvent<ApiObject>[] = [];
  for (const chunk of chunks) {
    for (const entry of chunk) {
      if (selection.has(entry)) {
        const { object, revision: since, size } = entry;
        events.push({ type: 'ADDED', object, revision: since, size });
      }
      if (events.length >= limits.watchBatchEvents) {
        yield { revision, events, initial: 'more' };
        events = [];
      }
      if (slice.due()) await slice.pause();
    }
  }
  if (events.length > 0) yield { revision, events, initial: 'more' };
  yield { revision, events: [], initial: 'end' };
}
