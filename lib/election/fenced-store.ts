import { hasCode, StatusError } from '../base/index.js';
import type { ApiObject, Kind, ListWatch, ObjectKey, WatchBatch } from '../object/index.js';
import {
  type ListOptions,
  type ListResult,
  requireKnownOperations,
  type ObjectStore,
  type Operation,
  type OperationResult,
  type StoreHealth,
  type WatchOptions,
  TransactionalWrites,
} from '../store/index.js';

/** The check of a fenced write inside its commit. */
export type Fence = () => Operation;

/** The error of a fenced write while this candidate does not hold the lease: FailedPrecondition (LeadershipLost). */
export function leadershipLost(name: string): StatusError {
  return new StatusError({
    code: 'FailedPrecondition',
    reason: 'LeadershipLost',
    message: `lease ${name} is not held by this candidate: nothing was written; write once it is elected`,
  });
}

/**
 * A store whose every write is part of a transaction that checks the lease first. A deposed leader can't write, even
 * before it notices: its writes reject with FailedPrecondition (LeadershipLost). Reads are those of the store itself.
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
    requireKnownOperations(operations);
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

  /** Whether the fence refused the transaction, not the write itself. */
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

  /** No-op: the opener of the underlying store closes it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
