import { limits, StatusError } from '../base/index.js';
import type { NewRecord } from './engine.js';

/** A transaction on its way to the disk. `publish` runs once it is durable, in revision order. */
export interface Commit {
  readonly records: readonly NewRecord[];
  readonly publish: () => void;
}

interface Waiting extends Commit {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Group commit: one batch is in flight, everything that arrives meanwhile is the next.
 *
 * Guarantees: commits become durable and are published in the order they were enqueued; nothing is
 * published before its batch is durable. After a failed batch the outcome is unknown, so the
 * pipeline is poisoned: that batch and all later commits reject with Unavailable.
 */
export class CommitPipeline {
  readonly #append: (records: readonly NewRecord[]) => Promise<void>;
  readonly #onFailure: (error: Error) => void;
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  #failure: StatusError | undefined;

  constructor(
    append: (records: readonly NewRecord[]) => Promise<void>,
    onFailure: (error: Error) => void,
  ) {
    this.#append = append;
    this.#onFailure = onFailure;
  }

  /** Resolves when the commit is durable and published. */
  enqueue(commit: Commit): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...commit, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything enqueued so far is settled. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    // One turn of patience lets the callers of this turn share the first batch.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, limits.batchTransactionsMax);
      const records = batch.flatMap((commit) => commit.records);
      try {
        if (records.length > 0) await this.#append(records);
      } catch (cause) {
        this.#poison(batch, cause);
        break;
      }
      for (const commit of batch) commit.publish();
      for (const commit of batch) commit.resolve();
    }
    this.#running = undefined;
  }

  #poison(batch: readonly Waiting[], cause: unknown): void {
    const detail = cause instanceof Error ? cause.message : String(cause);
    this.#failure = new StatusError({
      code: 'Unavailable',
      reason: 'StorePoisoned',
      message: `the store can't write (${detail}); whether the last writes happened is unknown until it is opened again`,
      cause,
    });
    const waiting = [...batch, ...this.#queue];
    this.#queue = [];
    for (const commit of waiting) commit.reject(this.#failure);
    this.#onFailure(this.#failure);
  }
}
