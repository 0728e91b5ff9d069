import { StatusError } from '../base/index.js';
import { deepFreeze, keyOf, keyString } from '../object/index.js';
import type { Engine, LogRecord } from './engine.js';
import { ObjectIndex } from './object-index.js';

function hole(expected: number, found: number): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'LogHole',
    message: `the store's log jumps from revision ${expected - 1} to ${found}: records are missing; restore the data directory from a backup`,
  });
}

/**
 * Rebuilds the current objects from the log: per key the last record wins.
 * Above the compaction mark revisions must be dense and each complete, else records were lost.
 */
export async function restoreIndex(
  engine: Pick<Engine, 'scan'>,
  compacted: number,
  highWater: number,
): Promise<{ readonly index: ObjectIndex; readonly revision: number }> {
  const index = new ObjectIndex();
  let revision = compacted;
  let last: LogRecord | undefined;
  for await (const record of engine.scan()) {
    if (record.revision > compacted) {
      const begins = record.index === 0 && record.revision === revision + 1;
      const goesOn = last?.revision === record.revision && record.index === last.index + 1;
      const previousWhole = !last || last.revision <= compacted || last.index === last.count - 1;
      if (!goesOn && !(begins && previousWhole)) throw hole(revision + 1, record.revision);
      revision = record.revision;
      last = record;
    }
    const key = keyString(keyOf(record.object));
    if (record.type === 'DELETED') index.delete(record.kind, key);
    else index.set(record.kind, key, deepFreeze(record.object));
  }
  if (last && last.index !== last.count - 1) throw hole(revision + 1, revision + 1);
  if (revision < highWater)
    throw new StatusError({
      code: 'DataLoss',
      reason: 'LogTailLost',
      message: `the store's log ends at revision ${revision}, but ${highWater} was written: its tail is lost; restore the data directory from a backup`,
    });
  return { index, revision };
}
