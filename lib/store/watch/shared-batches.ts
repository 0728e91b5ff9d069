import type { ApiObject, WatchBatch } from '../../object/index.js';
import type { SelectionOptions } from '../index/selection.js';

/** Maximum number of kept batches, and maximum bytes of their changes. */
const batchesMax = 256;
const bytesMax = 16_777_216;
/** The assumed bytes of an event of unknown size. */
const sizeGuess = 512;

/** The selection of a watch; see WatchOptions. */
export interface WatchScope extends SelectionOptions {
  readonly kind: string;
  readonly withPrevious: boolean;
}

interface Kept {
  readonly batch: WatchBatch<ApiObject> | Promise<WatchBatch<ApiObject>>;
  readonly bytes: number;
}

/** Numbers of selectors. A text does not identify one: two functions of the same text may read different forms. */
const numbers = new WeakMap<object, number>();
let numbered = 0;

function numberOf(selector: object | undefined): number {
  if (!selector) return 0;
  const known = numbers.get(selector);
  if (known !== undefined) return known;
  numbered += 1;
  numbers.set(selector, numbered);
  return numbered;
}

/** Returns a text that is equal for watches that get the same batches from the same revision. */
export function scopeKey({ kind, namespace, labels, fields, withPrevious }: WatchScope): string {
  const place = namespace === undefined ? '' : `/${namespace}`;
  return `${withPrevious ? 1 : 0} ${numberOf(labels)} ${numberOf(fields)} ${kind}${place}`;
}

/**
 * The latest batches of watches. While a batch is kept, watchers of the same scope at the same revision get the same
 * object, and share what is cached by it, such as its encoding. The oldest batch is dropped first.
 */
export class SharedBatches {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** Bytes of the changes of the kept batches. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The batch after `revision` for a scope; it is made unless it is kept. A failure is not kept. */
  after(
    revision: number,
    scope: string,
    make: () => Promise<WatchBatch<ApiObject>>,
  ): WatchBatch<ApiObject> | Promise<WatchBatch<ApiObject>> {
    const key = `${revision} ${scope}`;
    const known = this.#kept.get(key);
    if (known) return known.batch;
    const batch = make();
    this.#keep(key, { batch, bytes: 0 });
    batch.then(
      (made) => this.#replace(key, batch, made),
      () => this.#replace(key, batch, undefined),
    );
    return batch;
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#kept.size <= batchesMax && this.#bytes <= bytesMax) return;
      this.#kept.delete(oldest);
      this.#bytes -= bytes;
    }
  }

  #replace(
    key: string,
    promise: Promise<WatchBatch<ApiObject>>,
    batch: WatchBatch<ApiObject> | undefined,
  ): void {
    if (this.#kept.get(key)?.batch !== promise) return;
    this.#kept.delete(key);
    if (batch) this.#keep(key, { batch, bytes: bytesOf(batch) });
  }
}

function bytesOf({ events }: WatchBatch<ApiObject>): number {
  let sum = 0;
  for (const { size = sizeGuess } of events) sum += size;
  return sum;
}
