import { limits } from '../../base/index.js';
import type { Change } from '../index/selection.js';

/** The changes of one revision. */
export interface Published {
  readonly revision: number;
  readonly changes: readonly Change[];
}

/** Cleared slots before the array is compacted. */
const slackMax = 4_096;

/**
 * The bytes that a change keeps in memory: its object and the previous state. Consecutive changes of one object
 * both count the shared state, so that the sum is an upper bound.
 */
function heldBytes({ size, before }: Change): number {
  return size + (before?.size ?? 0);
}

/** The last revisions, in memory for all watchers. Beyond its limits of events and bytes it drops the oldest ones. */
export class WatchRing {
  #items: Published[] = [];
  #head = 0;
  #events = 0;
  #bytes = 0;
  /** Revision before the first one in the ring. */
  #start: number;

  constructor(revision: number) {
    this.#start = revision;
  }

  get start(): number {
    return this.#start;
  }

  /** Bytes of the changes and their previous states. */
  get bytes(): number {
    return this.#bytes;
  }

  push(published: Published): void {
    this.#items.push(published);
    this.#events += published.changes.length;
    for (const change of published.changes) this.#bytes += heldBytes(change);
    while (
      (this.#events > limits.watchRingEvents || this.#bytes > limits.watchRingBytes) &&
      this.#head < this.#items.length - 1
    )
      this.#dropOldest();
    if (this.#head > slackMax) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  /**
   * The revisions after `revision`, which must be at least `start`: at most `count` revisions and `bytes` bytes, but at
   * least one revision. Revisions are dense.
   */
  after(revision: number, count = Infinity, bytes = Infinity): readonly Published[] {
    const from = this.#head + revision - this.#start;
    const last = Math.min(from + count, this.#items.length);
    let end = from;
    let left = bytes;
    while (end < last) {
      for (const change of this.#items[end]?.changes ?? []) left -= heldBytes(change);
      if (left < 0 && end > from) break;
      end += 1;
    }
    return this.#items.slice(from, end);
  }

  #dropOldest(): void {
    const oldest = this.#items[this.#head];
    if (!oldest) return;
    // The removed entry is overwritten, so that its memory is freed before the array is compacted.
    this.#items[this.#head] = { revision: oldest.revision, changes: [] };
    this.#head += 1;
    this.#events -= oldest.changes.length;
    for (const change of oldest.changes) this.#bytes -= heldBytes(change);
    this.#start = oldest.revision;
  }
}
