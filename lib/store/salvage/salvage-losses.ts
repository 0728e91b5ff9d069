import { type Checkpoint, countRecord } from '../engine/engine.js';
import type { MarkState } from '../directory/high-water.js';
import type { DecodedRecord } from '../record/record-codec.js';

/** Revisions from the first to the last, both included. */
export interface RevisionRange {
  readonly first: number;
  readonly last: number;
}

/** The known losses of a store. */
export interface SalvageLosses {
  /**
   * Revisions above the compaction mark with a missing record. If the identity record is lost, or an earlier version of
   * it reappeared, a compaction may have dropped some of these revisions.
   */
  readonly revisions: readonly RevisionRange[];
  /** Objects at the compaction mark; undefined if the identity record, which counts them, is lost. */
  readonly atMark:
    | {
        readonly revision: number;
        readonly expected: number;
        readonly found: number;
        readonly same: boolean;
      }
    | undefined;
  /** Whether the high-water file could be read. Without it a truncated log is not detected. */
  readonly endKnown: boolean;
}

/** Counts missing records of a log whose records are passed in order of revision and index. */
export class LossCount {
  readonly #checkpoint: Checkpoint | undefined;
  readonly #ranges: RevisionRange[] = [];
  readonly #atMark = new Map<string, number>();
  #found: Checkpoint = { revision: 0, objects: 0, hash: 0 };
  /** Revisions up to this one were checked. */
  #checkedUntil: number;
  #revision = 0;
  /** Records of `#revision` that are missing. */
  #missing = 0;

  /** @param checkpoint undefined if the revisions that a compaction dropped are unknown */
  constructor(checkpoint: Checkpoint | undefined) {
    this.#checkpoint = checkpoint;
    this.#checkedUntil = checkpoint?.revision ?? 0;
  }

  /** Counts the next readable record. */
  next(record: DecodedRecord): void {
    if (this.#checkpoint && record.revision <= this.#checkpoint.revision) {
      this.#count(record);
      return;
    }
    if (record.revision !== this.#revision) {
      this.#endRevision();
      this.#lose(this.#checkedUntil + 1, record.revision - 1);
      this.#checkedUntil = record.revision;
      this.#revision = record.revision;
      this.#missing = record.count;
    }
    this.#missing -= 1;
  }

  /** Returns the losses; called once, after the last record. */
  end(mark: MarkState): SalvageLosses {
    this.#endRevision();
    const highWater = mark.type === 'mark' ? mark.revision : 0;
    this.#lose(this.#checkedUntil + 1, highWater);
    const { objects, hash } = this.#found;
    return {
      revisions: this.#ranges,
      atMark: this.#checkpoint && {
        revision: this.#checkpoint.revision,
        expected: this.#checkpoint.objects,
        found: objects,
        same: objects === this.#checkpoint.objects && hash === this.#checkpoint.hash,
      },
      endKnown: mark.type === 'mark',
    };
  }

  #count({ kind, key, type, checksum }: DecodedRecord): void {
    const id = `${kind} ${key}`;
    const before = this.#atMark.get(id);
    if (before !== undefined) this.#found = countRecord(this.#found, before, -1);
    this.#atMark.delete(id);
    if (type === 'DELETED') return;
    this.#atMark.set(id, checksum);
    this.#found = countRecord(this.#found, checksum, 1);
  }

  #endRevision(): void {
    if (this.#missing > 0) this.#lose(this.#revision, this.#revision);
    this.#missing = 0;
  }

  #lose(first: number, last: number): void {
    if (first > last) return;
    const before = this.#ranges.at(-1);
    if (before?.last === first - 1)
      this.#ranges[this.#ranges.length - 1] = { first: before.first, last };
    else this.#ranges.push({ first, last });
  }
}
