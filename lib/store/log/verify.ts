import { type Clock, counted, StatusError, TimeSlice } from '../../base/index.js';
import { type Checkpoint, countRecord, type Engine } from '../engine/engine.js';
import type { LazyObject } from '../record/lazy-object.js';
import { decodeRecord } from '../record/record-codec.js';
import { DensityCheck, requireCheckpoint, requireLogTail } from './restore.js';
import type { VerifyReport } from '../contract/object-store.js';

/** The expected state of the disk. */
export interface Expectation {
  readonly checkpoint: Checkpoint;
  /** Visible revision; later records are ignored. */
  readonly revision: number;
  /** The objects at that revision. */
  readonly kinds: ReadonlyMap<string, readonly (readonly LazyObject[])[]>;
}

/**
 * Reads every record and checks checksums, density above the mark, count and hash below it, and that the objects in
 * memory equal the log. No compaction may run meanwhile.
 * @throws StatusError DataLoss that names the damage
 */
export async function verifyLog(
  engine: Engine,
  expected: Expectation,
  clock: Clock,
): Promise<VerifyReport> {
  const { checkpoint, revision } = expected;
  const density = new DensityCheck(checkpoint.revision);
  const current = new Map<string, { readonly revision: number; readonly checksum: number }>();
  let mark: Checkpoint = { revision: checkpoint.revision, objects: 0, hash: 0 };
  let records = 0;
  let passedMark = false;
  reading: for await (const chunk of engine.scan(0)) {
    for (const raw of chunk) {
      if (raw.revision > revision) break reading;
      const record = decodeRecord(raw);
      records += 1;
      if (record.revision > checkpoint.revision) {
        if (!passedMark) requireCheckpoint(checkpoint, mark);
        passedMark = true;
        density.next(record);
      }
      const id = `${record.kind} ${record.key}`;
      const before = current.get(id);
      if (!passedMark && before) mark = countRecord(mark, before.checksum, -1);
      if (record.type === 'DELETED') {
        current.delete(id);
      } else {
        if (!passedMark) mark = countRecord(mark, record.checksum, 1);
        current.set(id, { revision: record.revision, checksum: record.checksum });
      }
    }
  }
  if (!passedMark) requireCheckpoint(checkpoint, mark);
  density.end();
  requireLogTail(density.revision, revision);
  const slice = new TimeSlice(clock);
  let objects = 0;
  for (const [kind, chunks] of expected.kinds) {
    for (const chunk of chunks) {
      for (const entry of chunk) {
        const found = current.get(`${kind} ${entry.key}`);
        if (found?.revision !== entry.revision || found.checksum !== entry.checksum)
          throw mismatch(kind, entry);
        objects += 1;
        if (slice.due()) await slice.pause();
      }
    }
  }
  if (objects !== current.size)
    throw new StatusError({
      code: 'DataLoss',
      reason: 'IndexMismatch',
      message: `the log contains ${counted(current.size, 'object')} at revision ${revision}, and the memory has ${objects}; restart the process, which reads the log again`,
    });
  return { revision, records, objects };
}

function mismatch(kind: string, entry: LazyObject): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'IndexMismatch',
    message: `${kind} "${entry.key}" of revision ${entry.revision} in memory differs from the log; restart the process, which reads the log again`,
  });
}
