import { limits, type TimeShare } from '../../base/index.js';
import { type Checkpoint, countRecord, type Engine, type RecordAddress } from '../engine/engine.js';
import { decodeHead, type RecordHead } from '../record/record-codec.js';

/** One write of a compaction. */
export interface CompactionStep {
  readonly checkpoint: Checkpoint;
  /** Records that are superseded at the checkpoint. */
  readonly superseded: readonly RecordAddress[];
  /** Encoded bytes of history that the mark passes. */
  readonly bytes: number;
}

/** Options of a compaction. */
export interface CompactionOptions {
  readonly engine: Pick<Engine, 'scan'>;
  /** Mark of the last compaction. */
  readonly from: Checkpoint;
  /** Remaining superseded records below that mark; the first step drops them. */
  readonly garbage: readonly RecordAddress[];
  /** Visible revision. */
  readonly to: number;
  /** Revisions that are kept regardless of their age. */
  readonly keepEvents: number;
  /** Records committed before this time may be dropped, milliseconds since the epoch. */
  readonly olderThan: number;
  /** Encoded bytes above the mark, and their maximum regardless of age. */
  readonly historyBytes: number;
  readonly historyBytesMax: number;
  /** Limits the share of time until the history exceeds its byte limit. */
  readonly share: TimeShare;
  /** Stops the compaction between two steps; finished steps stay. */
  readonly signal: AbortSignal;
  /** Makes a step durable, atomically. */
  readonly save: (step: CompactionStep) => Promise<void>;
}

/**
 * Moves the mark over history that is older than the age and beyond the kept number, or beyond the bytes, and drops
 * superseded records below it. The last record of an existing object stays.
 *
 * Each record names the one it replaced, so a compaction reads only the records that it passes. Mark and drops are
 * therefore one write, and superseded records below the mark are dropped first: a record that outlives its tombstone
 * would resurrect a deleted object.
 */
export async function compactLog(options: CompactionOptions): Promise<void> {
  let mark = options.from;
  let { garbage } = options;
  let step: RecordHead[] = [];
  let passedBytes = 0;
  const tooMuch = (): boolean => options.historyBytes - passedBytes > options.historyBytesMax;
  const rest = (): Promise<void> => (tooMuch() ? Promise.resolve() : options.share.rest());
  const due = ({ revision, at }: RecordHead): boolean =>
    revision <= options.to &&
    ((revision <= options.to - options.keepEvents && at < options.olderThan) || tooMuch());
  const flush = async (): Promise<void> => {
    if (step.length === 0 && garbage.length === 0) return;
    const { checkpoint, drops } = pass(mark, step);
    const bytes = step.reduce((sum, record) => sum + record.size, 0);
    await options.save({ checkpoint, superseded: [...garbage, ...drops], bytes });
    mark = checkpoint;
    garbage = [];
    step = [];
    await rest();
  };
  // Read only records that can be due.
  const through = tooMuch() ? options.to : options.to - options.keepEvents;
  if (through <= mark.revision) return flush();
  for await (const chunk of options.engine.scan(mark.revision, { through })) {
    for (const raw of chunk) {
      const record = decodeHead(raw);
      // The mark never splits a revision, so only the first record of a revision decides.
      if (record.index === 0) {
        if (options.signal.aborted || !due(record)) return flush();
        if (step.length >= limits.compactionStepRecords) await flush();
      }
      step.push(record);
      passedBytes += record.size;
    }
    await rest();
  }
  await flush();
}

/** The checkpoint after these records, and the records superseded by them. */
function pass(
  from: Checkpoint,
  records: readonly RecordHead[],
): { readonly checkpoint: Checkpoint; readonly drops: readonly RecordAddress[] } {
  const drops: RecordAddress[] = [];
  let mark = from;
  for (const { revision, index, type, previous, checksum } of records) {
    if (previous) {
      drops.push(previous);
      mark = countRecord(mark, previous.checksum, -1);
    }
    if (type === 'DELETED') drops.push({ revision, index });
    else mark = countRecord(mark, checksum, 1);
    mark = { ...mark, revision };
  }
  return { checkpoint: mark, drops };
}
