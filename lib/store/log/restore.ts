import { StatusError } from '../../base/index.js';
import {
  type Checkpoint,
  countRecord,
  type Engine,
  type EngineState,
  type RecordAddress,
} from '../engine/engine.js';
import { LazyObject } from '../record/lazy-object.js';
import { ObjectIndex } from '../index/object-index.js';
import { type DecodedRecord, decodeRecord } from '../record/record-codec.js';

function dataLoss(reason: string, message: string): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason,
    message: `${message}; restore the data directory from a backup`,
  });
}

/** Checks that revisions are dense and each complete: records that LevelDB lost silently appear as a hole. */
export class DensityCheck {
  #revision: number;
  /** Records of `#revision` still to come. */
  #missing = 0;
  #index = 0;

  constructor(revision: number) {
    this.#revision = revision;
  }

  /** The last revision seen. */
  get revision(): number {
    return this.#revision;
  }

  /** Checks the next record. @throws StatusError DataLoss (LogHole) for a hole before it */
  next(record: DecodedRecord): void {
    const goesOn = record.revision === this.#revision && this.#missing > 0;
    const begins = record.revision === this.#revision + 1 && this.#missing === 0;
    const index = begins ? 0 : this.#index + 1;
    if (!(goesOn || begins) || record.index !== index) this.#fail(record.revision);
    this.#missing = begins ? record.count - 1 : this.#missing - 1;
    this.#revision = record.revision;
    this.#index = record.index;
  }

  /** Checks the end of the log. @throws StatusError DataLoss (LogHole) when the last revision is incomplete */
  end(): void {
    if (this.#missing > 0) this.#fail(this.#revision);
  }

  #fail(found: number): never {
    const first = this.#missing > 0 ? this.#revision : this.#revision + 1;
    throw dataLoss(
      'LogHole',
      `the store's log has a gap from revision ${first} to ${found}: records there are missing`,
    );
  }
}

/**
 * Checks the records at a compaction mark.
 * @throws StatusError DataLoss (CheckpointMismatch) if they differ from those of the checkpoint
 */
export function requireCheckpoint(expected: Checkpoint, found: Checkpoint): void {
  if (expected.objects === found.objects && expected.hash === found.hash) return;
  throw dataLoss(
    'CheckpointMismatch',
    `the store's log contains ${found.objects} objects up to revision ${expected.revision}, hash ${found.hash}, but ${expected.objects}, hash ${expected.hash}, are expected: records up to that revision are missing, or removed records reappeared`,
  );
}

/**
 * Checks the end of a log.
 * @throws StatusError DataLoss (LogTailLost) if it is before the last revision known to be written
 */
export function requireLogTail(revision: number, highWater: number): void {
  if (revision >= highWater) return;
  throw dataLoss(
    'LogTailLost',
    `the store's log ends at revision ${revision}, but revision ${highWater} was written: the log is truncated`,
  );
}

/** The content of a log. */
export interface Restored {
  readonly index: ObjectIndex;
  readonly revision: number;
  /** Encoded bytes above the compaction mark. */
  readonly historyBytes: number;
  /** Superseded records below the mark: an earlier release dropped them after the mark, or not at all. */
  readonly garbage: readonly RecordAddress[];
  readonly expiries: readonly Expiry[];
}

/** The expiry time of an object. */
export interface Expiry {
  readonly kind: string;
  readonly key: string;
  readonly at: number;
}

/**
 * Rebuilds the current objects from the log without parsing them: the last record of each key applies. Above the
 * compaction mark revisions must be dense; below it count and hash must be those of the checkpoint.
 * @throws StatusError DataLoss
 */
export async function restoreIndex(engine: Engine, state: EngineState): Promise<Restored> {
  const { checkpoint } = state;
  const index = new ObjectIndex();
  const density = new DensityCheck(checkpoint.revision);
  const garbage: RecordAddress[] = [];
  const expiring = new Map<string, Map<string, Expiry>>();
  let found: Checkpoint = { revision: checkpoint.revision, objects: 0, hash: 0 };
  let atMark = false;
  let historyBytes = 0;
  for await (const chunk of engine.scan(0)) {
    for (const raw of chunk) {
      const record = decodeRecord(raw);
      const { kind, key, revision, checksum } = record;
      const table = index.table(kind);
      if (revision > checkpoint.revision) {
        if (!atMark) requireCheckpoint(checkpoint, found);
        atMark = true;
        density.next(record);
        historyBytes += record.size;
      } else {
        const before = table.get(key);
        if (before) {
          garbage.push({ revision: before.revision, index: before.index });
          found = countRecord(found, before.checksum, -1);
        }
        if (record.type === 'DELETED') garbage.push({ revision, index: record.index });
        else found = countRecord(found, checksum, 1);
      }
      if (record.type === 'DELETED') table.delete(key);
      else table.set(new LazyObject(key, record, record.json));
      noteExpiry(expiring, record);
    }
  }
  if (!atMark) requireCheckpoint(checkpoint, found);
  density.end();
  requireLogTail(density.revision, state.highWater);
  const expiries = [...expiring.values()].flatMap((ofKind) => [...ofKind.values()]);
  return { index, revision: density.revision, historyBytes, garbage, expiries };
}

/** Notes the expiry of an object according to its latest record. Objects without an expiry have no entry. */
function noteExpiry(expiring: Map<string, Map<string, Expiry>>, record: DecodedRecord): void {
  const { kind, key, type, expiresAt } = record;
  const ofKind = expiring.get(kind);
  if (type === 'DELETED' || !(expiresAt > 0)) ofKind?.delete(key);
  else if (ofKind) ofKind.set(key, { kind, key, at: expiresAt });
  else expiring.set(kind, new Map([[key, { kind, key, at: expiresAt }]]));
}
