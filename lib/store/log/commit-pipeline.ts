import { type Clock, limits, messageOf, StatusError } from '../../base/index.js';
import type { EncodedRecord } from '../record/record-codec.js';

/** A transaction in the pipeline. */
export interface Commit {
  /** Empty for a transaction without changes: it still waits until its reads are durable. */
  readonly records: readonly EncodedRecord[];
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A batch is split if at least this many commits wait. */
const lockstepMin = 48;
/** After a longer pause, in milliseconds, the writers do not run in lockstep. */
const recentMs = 50;

/** The dependencies of a pipeline. */
export interface CommitPipelineOptions<C extends Commit> {
  readonly clock: Clock;
  readonly append: (records: readonly EncodedRecord[]) => Promise<void>;
  /** Called with each durable batch, in revision order, before its promises resolve. */
  readonly publish: (batch: readonly C[]) => void;
  readonly onFailure: (error: StatusError) => void;
}

/**
 * Group commit: one batch is in flight, later commits form the next batch.
 *
 * Guarantees: commits become durable in the order they were enqueued, and are published only after their batch is
 * durable. After a failed batch the outcome is unknown, so the pipeline is poisoned: that batch and all enqueued commits
 * reject with Unavailable, and `requireRoom`, which callers call before `enqueue`, throws until `revive`.
 */
export class CommitPipeline<C extends Commit> {
  readonly #options: CommitPipelineOptions<C>;
  #queue: C[] = [];
  #queuedBytes = 0;
  #running: Promise<void> | undefined;
  #failure: StatusError | undefined;
  #failures = 0;
  /** End and duration of the last append, milliseconds. */
  #endedAt = -Infinity;
  #appendMs = Infinity;

  constructor(options: CommitPipelineOptions<C>) {
    this.#options = options;
  }

  /**
   * Checks that a commit can be enqueued.
   * @throws StatusError Unavailable while poisoned, ResourceExhausted (WriteQueueFull) when too many bytes are waiting
   */
  requireRoom(): void {
    if (this.#failure) throw this.#failure;
    if (this.#queuedBytes > limits.pendingBytesMax)
      throw new StatusError({
        code: 'ResourceExhausted',
        reason: 'WriteQueueFull',
        message: `${this.#queuedBytes} bytes wait to be written, and at most ${limits.pendingBytesMax} may wait; write more slowly`,
        retryAfterMs: 100,
      });
  }

  /** Number of failures so far, after each of which enqueued commits may be lost. */
  get failures(): number {
    return this.#failures;
  }

  /** Enqueues a commit; its `resolve` runs when it is durable and published. */
  enqueue(commit: C): void {
    this.#queue.push(commit);
    this.#queuedBytes += commit.bytes;
    this.#running ??= this.#run();
  }

  /** Resolves when all commits enqueued so far are settled. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /**
   * Refuses writes as after a failed batch, because another write to the same log failed. The batch in flight is
   * not affected.
   */
  fail(cause: unknown): void {
    this.#poison([], cause);
  }

  /** Accepts writes again, because the outcome of the failed ones was read back. */
  revive(): void {
    this.#failure = undefined;
  }

  async #run(): Promise<void> {
    // Waits one turn, so that the callers of this turn share the first batch.
    await Promise.resolve();
    let share = this.#inLockstep() ? Math.ceil(this.#queue.length / 2) : Infinity;
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch(share);
      share = Infinity;
      const startedAt = this.#options.clock.monotonic();
      const records = recordsOf(batch);
      try {
        if (records.length > 0) await this.#options.append(records);
      } catch (cause) {
        this.#poison(batch, cause);
        break;
      }
      this.#endedAt = this.#options.clock.monotonic();
      this.#appendMs = this.#endedAt - startedAt;
      this.#options.publish(batch);
      for (const commit of batch) commit.resolve();
    }
    this.#running = undefined;
  }

  /**
   * True if the writers run in lockstep: all of them wait for one batch, and then the disk waits for all of them,
   * longer than for a write. The batch is then split: one half is prepared while the other is written.
   */
  #inLockstep(): boolean {
    if (this.#queue.length < lockstepMin) return false;
    const idleMs = this.#options.clock.monotonic() - this.#endedAt;
    return idleMs > this.#appendMs && idleMs < recentMs;
  }

  /** Returns the commits that share one sync. Their number is bounded, so that the first one does not wait long. */
  #takeBatch(share: number): readonly C[] {
    let count = 0;
    let bytes = 0;
    for (const commit of this.#queue) {
      if (count > 0 && bytes + commit.bytes > limits.batchBytesMax) break;
      if (count === limits.batchTransactionsMax || count >= share) break;
      count += 1;
      bytes += commit.bytes;
    }
    this.#queuedBytes -= bytes;
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }

  #poison(batch: readonly C[], cause: unknown): void {
    this.#failures += 1;
    const known = this.#failure !== undefined;
    this.#failure ??= new StatusError({
      code: 'Unavailable',
      reason: 'StorePoisoned',
      message: `the store can't write (${messageOf(cause)}); the outcome of the last writes is unknown until the store is reopened`,
      cause,
    });
    const waiting = [...batch, ...this.#queue];
    this.#queue = [];
    this.#queuedBytes = 0;
    for (const commit of waiting) commit.reject(this.#failure);
    if (!known) this.#options.onFailure(this.#failure);
  }
}

function recordsOf(batch: readonly Commit[]): readonly EncodedRecord[] {
  const [first] = batch;
  if (first && batch.length === 1) return first.records;
  const records: EncodedRecord[] = [];
  for (const commit of batch) for (const record of commit.records) records.push(record);
  return records;
}
