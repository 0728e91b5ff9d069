import { type Clock, limits } from '../../base/index.js';
import type { LazyObject } from '../record/lazy-object.js';

/** A kind's entries at one revision. */
export interface ListSnapshot {
  readonly kind: string;
  readonly revision: number;
  readonly chunks: readonly (readonly LazyObject[])[];
}

/** A list that goes on, and whose it is. */
export interface Keepable extends ListSnapshot {
  /** Undefined: the program itself. */
  readonly caller: string | undefined;
  /** What {@link KeptLists.replacedOf} said when the snapshot was taken. */
  readonly replacedBefore: number;
}

interface Kept<L> {
  readonly list: L;
  /** Bytes of the references that the snapshot holds. */
  readonly referenceBytes: number;
  usedAt: number;
}

const bytesOfReference = 8;
/** So much may be replaced until the bounds are looked at again. */
const settleBytes = 1_048_576;

/**
 * Lists under way by the name of each. What they keep in memory is bounded: in number, for each caller
 * and in all, in idle time, and in bytes. Where one has to go it is the least recently used one of the
 * caller that holds the most, so that nobody's lists expire those of others.
 *
 * A snapshot shares its objects with the store until they are replaced, so what it keeps alive is what
 * was replaced in its kind since.
 */
export class KeptLists<L extends Keepable> {
  readonly #clock: Clock;
  /** The least recently used comes first. */
  readonly #kept = new Map<string, Kept<L>>();
  /** Encoded bytes of the objects that were ever replaced, by kind. */
  readonly #replaced = new Map<string, number>();
  #unsettled = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** For {@link Keepable.replacedBefore}. */
  replacedOf(kind: string): number {
    return this.#replaced.get(kind) ?? 0;
  }

  /** Objects of a kind were replaced or deleted: so many bytes live on only where a list keeps them. */
  noteReplaced(kind: string, bytes: number): void {
    this.#replaced.set(kind, this.replacedOf(kind) + bytes);
    if (this.#kept.size === 0) return;
    this.#unsettled += bytes;
    if (this.#unsettled < settleBytes) return;
    this.#unsettled = 0;
    this.#settle();
  }

  /** Keeps a list; others may go for it. */
  keep(name: string, list: L): void {
    const references = list.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const usedAt = this.#clock.monotonic();
    this.#kept.set(name, { list, referenceBytes: references * bytesOfReference, usedAt });
    this.#settle();
  }

  /** The list of this name, which counts as used now; undefined when it has gone. */
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

  /** The least recently used of a caller. */
  #dropOne(caller: string | undefined): void {
    for (const [name, { list }] of this.#kept) {
      if (list.caller !== caller) continue;
      this.#kept.delete(name);
      return;
    }
  }

  /** The caller whose lists weigh most. */
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

  /** What would go with a list if nobody shared it. */
  #bytesOf({ list, referenceBytes }: Kept<L>): number {
    return referenceBytes + this.replacedOf(list.kind) - list.replacedBefore;
  }

  /** What all of them keep alive: objects are shared, so in each kind the oldest list decides. */
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
