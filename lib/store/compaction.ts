import { limits } from '../base/index.js';
import { keyOf, keyString } from '../object/index.js';
import type { Engine, RecordAddress } from './engine.js';
import type { ObjectIndex } from './object-index.js';

/** What a compaction may touch. */
export interface CompactionOptions {
  readonly engine: Engine;
  readonly index: ObjectIndex;
  /** Mark of the last compaction. */
  readonly from: number;
  /** Visible revision. */
  readonly to: number;
  readonly keepEvents: number;
  /** Records committed before this may go, milliseconds since the epoch. */
  readonly olderThan: number;
  /** Runs after the mark is durable and before anything is dropped. */
  readonly onMark: (revision: number) => void;
}

/**
 * Drops superseded records that are both older than the age and beyond the number kept.
 * The last record of a living object stays, whatever its age. Gives back the new mark.
 *
 * Records go in ascending order: a crash in between never leaves a deleted object's record without
 * its tombstone, which would bring it back.
 */
export async function compactLog(options: CompactionOptions): Promise<number> {
  const { engine, index, from } = options;
  const target = options.to - options.keepEvents;
  // A compaction reads the log from its start, so it waits until a tenth of the history is due.
  if (target - from < Math.max(1, options.keepEvents / 10)) return from;
  const candidates: RecordAddress[] = [];
  let mark = from;
  for await (const record of engine.scan()) {
    if (record.revision > target || record.at >= options.olderThan) break;
    mark = Math.max(mark, record.revision);
    const current = index.get(record.kind, keyString(keyOf(record.object)));
    const live = current?.metadata.resourceVersion === String(record.revision);
    if (!live) candidates.push({ revision: record.revision, index: record.index });
  }
  if (mark === from) return from;
  await engine.markCompacted(mark);
  options.onMark(mark);
  for (let at = 0; at < candidates.length; at += limits.watchBatchEvents)
    await engine.drop(candidates.slice(at, at + limits.watchBatchEvents));
  return mark;
}
