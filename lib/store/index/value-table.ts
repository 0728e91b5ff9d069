import { type Clock, TimeSlice } from '../../base/index.js';
import type { ApiObject } from '../../object/index.js';
import type { LazyObject } from '../record/lazy-object.js';

/** Returns the values of an object; undefined if the index function throws for it. */
export type ValuesOf = (object: ApiObject) => readonly string[] | undefined;

/**
 * The keys of a kind's visible objects by the values of one index.
 *
 * It is filled from a snapshot, in slices, while changes continue: keys that changed meanwhile are not taken from
 * the snapshot. After that each change costs time proportional to the values of the object.
 */
export class ValueTable {
  readonly #keys = new Map<string, Set<string>>();
  readonly #values = new Map<string, readonly string[]>();
  /** Objects under no value, because the index function throws for them. */
  readonly #faults = new Set<string>();
  /** Keys that changed since the snapshot; undefined once it is complete. */
  #changed: Set<string> | undefined = new Set();

  /** Keys under a value, in key order. */
  keys(value: string): readonly string[] {
    return [...(this.#keys.get(value) ?? [])].sort();
  }

  /** The key of an object for which the index function throws; undefined if there is none. */
  get fault(): string | undefined {
    const { value } = this.#faults.values().next();
    return value;
  }

  async fill(
    chunks: readonly (readonly LazyObject[])[],
    valuesOf: ValuesOf,
    clock: Clock,
  ): Promise<void> {
    const slice = new TimeSlice(clock);
    for (const chunk of chunks)
      for (const entry of chunk) {
        if (!this.#changed?.has(entry.key)) this.#set(entry.key, valuesOf(peek(entry)));
        if (slice.due()) await slice.pause();
      }
    this.#changed = undefined;
  }

  set(key: string, values: readonly string[] | undefined): void {
    this.#changed?.add(key);
    this.#set(key, values);
  }

  delete(key: string): void {
    this.#changed?.add(key);
    this.#remove(key);
  }

  #set(key: string, values: readonly string[] | undefined): void {
    this.#remove(key);
    if (!values) {
      this.#faults.add(key);
      return;
    }
    if (values.length === 0) return;
    this.#values.set(key, values);
    for (const value of values) {
      const keys = this.#keys.get(value);
      if (keys) keys.add(key);
      else this.#keys.set(value, new Set([key]));
    }
  }

  #remove(key: string): void {
    this.#faults.delete(key);
    for (const value of this.#values.get(key) ?? []) {
      const keys = this.#keys.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(value);
    }
    this.#values.delete(key);
  }
}

/** The object of an entry; an unparsed entry keeps its text, which is smaller. */
function peek(entry: LazyObject): ApiObject {
  return entry.textSize === undefined ? entry.object : (JSON.parse(entry.json) as ApiObject);
}
