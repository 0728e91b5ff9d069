import { hasCode, StatusError } from '../base/index.js';
import type { ApiObject, Kind, ListWatch, ObjectKey, WatchBatch } from '../object/index.js';
import {
  type ListOptions,
  type ListResult,
  demandKnownOperations,
  type ObjectStore,
  type Operation,
  type OperationResult,
  type StoreHealth,
  type WatchOptions,
  TransactionalWrites,
} from '../store/index.js';

/** The condition under which a fenced write may happen, judged inside its commit. */
export type Fence = () => Operation;

/** Nobody leads under this epoch any more. */
export function leadershipLost(name: string): StatusError {
  return new StatusError({
    code: 'FailedPrecondition',
    reason: 'LeadershipLost',
    message: `lease ${name} belongs to somebody else now: nothing was written`,
  });
}

/**
 * A store whose every write is part of a transaction that checks the lease first: a deposed leader,
 * however late it finds out, writes nothing. Reads are those of the store itself.
 */
export class FencedStore extends TransactionalWrites implements ObjectStore {
  readonly #store: ObjectStore;
  readonly #leaseName: string;
  readonly #fence: Fence;

  constructor(store: ObjectStore, leaseName: string, fence: Fence) {
    super();
    this.#store = store;
    this.#leaseName = leaseName;
    this.#fence = fence;
  }

  get storeId(): string {
    return this.#store.storeId;
  }

  get clusterId(): string {
    return this.#store.clusterId;
  }

  get revision(): number {
    return this.#store.revision;
  }

  async transact(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    demandKnownOperations(operations);
    if (operations.length === 0) return this.#store.transact(operations);
    const fence = this.#fence();
    try {
      const [, ...results] = await this.#store.transact([fence, ...operations]);
      return results;
    } catch (error) {
      if (await this.#fencedOff(error, fence)) throw leadershipLost(this.#leaseName);
      throw error;
    }
  }

  /** Whether it was the fence, not the write itself, that was refused. */
  async #fencedOff(error: unknown, fence: Operation): Promise<boolean> {
    if (!hasCode(error, 'Aborted') && !hasCode(error, 'NotFound')) return false;
    return this.#store.transact([fence]).then(
      () => false,
      (again: unknown) => hasCode(again, 'Aborted') || hasCode(again, 'NotFound'),
    );
  }

  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined> {
    return this.#store.get(kind, key);
  }

  list<T extends ApiObject>(kind: Kind<T>, options?: ListOptions): Promise<ListResult<T>> {
    return this.#store.list(kind, options);
  }

  watch<T extends ApiObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchBatch<T>> {
    return this.#store.watch(kind, options);
  }

  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T> {
    return this.#store.source(kind);
  }

  health(): StoreHealth {
    return this.#store.health();
  }

  /** The store belongs to whoever opened it: closing the fenced one does nothing. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
