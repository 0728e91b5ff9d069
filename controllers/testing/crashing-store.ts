import type { ObjectStore } from 'kedge';

const writes: ReadonlySet<PropertyKey> = new Set([
  'create',
  'delete',
  'deleteByName',
  'overwrite',
  'transact',
  'update',
  'updateStatus',
]);

/**
 * A process that dies at one of its writes, before or after it is stored. From then on it writes nothing, until it is
 * started again.
 */
export class CrashingProcess {
  #left = Infinity;
  #isStored = false;
  #isDead = false;

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Lets the process die at its write number `left` from now on. */
  dieAt(left: number, isStored: boolean): void {
    this.#left = left;
    this.#isStored = isStored;
  }

  /** Lets the process live if it did not die yet. */
  live(): void {
    this.#left = Infinity;
  }

  /** Starts the process again. */
  revive(): void {
    this.#left = Infinity;
    this.#isDead = false;
  }

  /** A store as the process sees it. */
  seenBy(store: ObjectStore): ObjectStore {
    return new Proxy(store, {
      get: (target, property): unknown => {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...given: unknown[]) => unknown;
        if (!writes.has(property)) return method;
        return async (...given: unknown[]): Promise<unknown> => {
          if (this.#isDead) throw dead();
          this.#left -= 1;
          if (this.#left > 0) return method(...given);
          this.#isDead = true;
          if (this.#isStored) await method(...given);
          throw dead();
        };
      },
    });
  }
}

function dead(): Error {
  return new Error('the process died');
}
