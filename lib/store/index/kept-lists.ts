import { type Clock, limits } from '../../base/index.js';
import type { LazyObject } from '../record/lazy-object.js';

/** A kind's entries at one revision. */
export interface ListSnapshot {
  readonly kind: string;
  readonly revision: number;
  readonly chunks: readonly (readonly LazyObject[])[];
}

/** An unfinished list and its caller. */
export interface Keepable extends ListSnapshot {
  /** The caller that gets the further pages; undefined for the program itself. */
  readonly caller: string | undefined;
  /** The value of {@link KeptLists.replacedOf} when the snapshot was taken. */
  readonly replacedBefore: number;
}

interface Kept<L> {
  readonly list: L;
  /** Bytes of the references that the snapshot holds. */
  readonly referenceBytes: number;
  usedAt: number;
}

const bytesOfReference = 8;
/** Replaced bytes after which the limits are checked again. */
const settleBytes = 1_048_576;

/**
 * Unfinished lists by name. Their memory is bounded: by number, per caller and in total, by idle time, and by bytes.
 * Above a limit, the caller with the most lists or bytes loses its least recently used list.
 *
 * A snapshot shares its objects with the store until they are replaced, so it keeps alive the objects of its kind that
 * were replaced since.
 */
export class KeptLists<L extends Keepable> {
  readonly #clock: Clock;
  /** The least recently used list is first. */
  readonly #kept = new Map<string, Kept<L>>();
  /** Cumulative encoded bytes of replaced objects, by kind. */
  readonly #replaced = new Map<string, number>();
  #unsettled = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Bytes of a kind's objects that were replaced or deleted so far; see {@link Keepable.replacedBefore}. */
  replacedOf(kind: string): number {
    return this.#replaced.get(kind) ?? 0;
  }

  /** Counts bytes of replaced or deleted objects of a kind, which lists may keep alive. */
  noteReplaced(kind: string, bytes: number): void {
    this.#replaced.set(kind, this.replacedOf(kind) + bytes);
    if (this.#kept.size === 0) return;
    this.#unsettled += bytes;
    if (this.#unsettled < settleBytes) return;
    this.#unsettled = 0;
    this.#settle();
  }

  /** Keeps a list. This may evict lists, even this one. */
  keep(name: string, list: L): void {
    const references = list.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const usedAt = this.#clock.monotonic();
    this.#kept.set(name, { list, referenceBytes: references * bytesOfReference, usedAt });
    this.#settle();
  }

  /** The list of this name, marked as used; undefined if it was never kept, was evicted, or was idle for too long. */
  use(name: string): L | undefined {
    const kept = this.#kept.get(name);
    if (!kept) return undefined;
    this.#kept.delete(name);
    if (this.#isIdle(kept)) return undefined;
    this.#kept.set(name, kept);
    kept.usedAt = this.#clock.monotonic();
    return kept.list;
  }

  #isIdle({ usedAt }: Kept<L>): boolean {
    return this.#clock.monotonic() - usedAt > limits.pagedListIdleMs;
  }

  #settle(): void {
    for (const [name, kept] of this.#kept) {
      if (!this.#isIdle(kept)) break;
      this.#kept.delete(name);
    }
    const counts = new Map<string | undefined, number>();
    for (const { list } of this.#kept.values())
      counts.set(list.caller, (counts.get(list.caller) ?? 0) + 1);
    for (const [caller, count] of counts)
      if (caller !== undefined && count > limits.pagedListsPerCallerMax) this.#dropOne(caller);
    while (this.#kept.size > limits.pagedListsMax) this.#dropOne(this.#greatest(() => 1));
    while (this.#kept.size > 0 && this.#bytes() > limits.pagedListsBytesMax)
      this.#dropOne(this.#greatest((kept) => this.#bytesOf(kept)));
  }

  /** Evicts the least recently used list of a caller. */
  #dropOne(caller: string | undefined): void {
    for (const [name, { list }] of this.#kept) {
      if (list.caller !== caller) continue;
      this.#kept.delete(name);
      return;
    }
  }

  /** The caller whose lists have the largest total weight; undefined is the program itself. */
  #greatest(weightOf: (kept: Kept<L>) => number): string | undefined {
    const weights = new Map<string | undefined, number>();
    let greatest: string | undefined;
    let most = -1;
    for (const kept of this.#kept.values()) {
      const { caller } = kept.list;
      const weight = (weights.get(caller) ?? 0) + weightOf(kept);
      weights.set(caller, weight);
    }
    for (const [caller, weight] of weights) if (weight > most) [greatest, most] = [caller, weight];
    return greatest;
  }

  /** The bytes that a list would keep alive if it were the only one. */
  #bytesOf({ list, referenceBytes }: Kept<L>): number {
    return referenceBytes + this.replacedOf(list.kind) - list.replacedBefore;
  }

  /**
   * An upper bound of the bytes that the lists keep alive: the references of each list, and per kind all bytes that
   * were replaced since its oldest list, because lists share objects.
   */
  #bytes(): number {
    const oldest = new Map<string, number>();
    let bytes = 0;
    for (const { list, referenceBytes } of this.#kept.values()) {
      bytes += referenceBytes;
      const known = oldest.get(list.kind) ?? Infinity;
      oldest.set(list.kind, Math.min(known, list.replacedBefore));
    }
    for (const [kind, before] of oldest) bytes += this.replacedOf(kind) - before;
    return bytes;
  }
}
