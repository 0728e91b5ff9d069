import type { Operation } from '../contract/operations.js';

/** Approximate bytes of a value besides the characters of its text. */
const valueBytes = 16;

/**
 * A copy of operations that are staged after the turn of their call: until then the caller may change what it gave, such
 * as an object that it uses as a template for several.
 */
export class OperationCopy {
  readonly operations: readonly Operation[];
  /** The approximate size of the copy. */
  get bytes(): number {
    return this.#bytes;
  }
  #bytes = 0;

  constructor(operations: readonly Operation[]) {
    this.operations = operations.map((operation) => {
      const { kind, ...given } = operation;
      return { ...(this.#copy(given) as typeof given), kind };
    });
  }

  /** Copies lists and plain objects; other values are shared. */
  #copy(value: unknown): unknown {
    this.#bytes += valueBytes + (typeof value === 'string' ? value.length : 0);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#copy(item));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => {
        this.#bytes += name.length;
        return [name, this.#copy(inner)];
      }),
    );
  }
}
