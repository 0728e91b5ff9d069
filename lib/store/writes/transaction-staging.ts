import { type Clock, limits, StatusError, TimeSlice } from '../../base/index.js';
import { OperationCopy } from './operation-copy.js';
import type { Operation } from '../contract/operations.js';
import type { ObjectIndex } from '../index/object-index.js';
import type { RecentChanges } from './recent-changes.js';
import {
  requireOperations,
  stageWrites,
  stagingSteps,
  type WriteContext,
  type WriteSet,
} from './write-set.js';

/** Maximum operations of a transaction that is staged in one turn of the event loop. */
const oneTurnOperations = 32;

/** A transaction to stage, with its completion callbacks. */
export interface StagedCall {
  readonly operations: readonly Operation[];
  /** Accepts the staged set, in the turn in which staging ends. */
  readonly accept: (set: WriteSet) => void;
  readonly reject: (error: Error) => void;
}

interface WaitingCall extends StagedCall {
  readonly bytes: number;
}

/** The dependencies of staging. */
export interface TransactionStagingOptions
  extends Pick<WriteContext, 'index' | 'kept' | 'recent' | 'random'> {
  readonly clock: Clock;
  /** The last revision that was assigned to a write. */
  readonly assigned: () => number;
  /** Called before staging and after each pause. @throws StatusError if no transaction can be accepted */
  readonly requireOpen: () => void;
  /** Called before a transaction that waits for no other. Undefined if it can be staged at once; never rejects. */
  readonly ready: () => Promise<void> | undefined;
  /** Increases whenever accepted writes are lost: a set that was started before is staged again. */
  readonly losses: () => number;
}

/**
 * Stages transactions in the order of their calls, each on top of all accepted ones.
 *
 * A short one that has to wait for nothing is staged and accepted in the turn of its call. A long one is staged in
 * slices, between which reads and all other work continue. Transactions that are called meanwhile wait, so that nothing
 * is accepted between two slices: the transaction is as atomic as one that is staged in one turn.
 */
export class TransactionStaging {
  readonly #options: TransactionStagingOptions;
  readonly #waiting: WaitingCall[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;

  constructor(options: TransactionStagingOptions) {
    this.#options = options;
  }

  /** Stages a transaction; `accept` or `reject` is called once. */
  add(call: StagedCall): void {
    const { operations, reject } = call;
    try {
      requireOperations(operations);
      if (this.#running) return this.#wait(call);
      const preparing = this.#options.ready();
      if (preparing) {
        this.#wait(call);
        this.#running = preparing.then(() => this.#rest());
      } else {
        const isLong = operations.length > oneTurnOperations;
        const taken = isLong
          ? { ...call, operations: new OperationCopy(operations).operations }
          : call;
        this.#running = this.#stage(taken)?.then(() => this.#rest());
      }
    } catch (error) {
      reject(error as Error);
    }
  }

  /** Resolves when every transaction that was added is accepted or rejected. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  #wait(call: StagedCall): void {
    if (this.#waitingBytes > limits.waitingBytesMax)
      throw new StatusError({
        code: 'ResourceExhausted',
        reason: 'WriteQueueFull',
        message: `transactions of ${this.#waitingBytes} bytes wait for a long one, and at most ${limits.waitingBytesMax} may wait; retry once earlier writes are answered, or write more slowly`,
        retryAfterMs: 100,
      });
    const { operations, bytes } = new OperationCopy(call.operations);
    this.#waiting.push({ ...call, operations, bytes });
    this.#waitingBytes += bytes;
  }

  async #rest(): Promise<void> {
    // Many calls may wait: without pauses all of them would be staged in one turn.
    const slice = new TimeSlice(this.#options.clock, { everyStep: true });
    for (;;) {
      const call = this.#waiting.shift();
      if (!call) break;
      this.#waitingBytes -= call.bytes;
      const staging = this.#stage(call);
      if (staging) await staging;
      if (slice.due()) await slice.pause();
    }
    this.#running = undefined;
  }

  /** Stages a call; undefined if it was accepted or rejected at once. */
  #stage(call: StagedCall): Promise<void> | undefined {
    const { operations, accept, reject } = call;
    try {
      this.#options.requireOpen();
      if (operations.length > oneTurnOperations) return this.#stageInSlices(call);
      accept(stageWrites(operations, this.#context()));
    } catch (error) {
      reject(error as Error);
    }
    return undefined;
  }

  #context(): WriteContext {
    const { index, kept, recent, random, clock, assigned } = this.#options;
    return { index, kept, recent, random, revision: assigned() + 1, at: clock.now() };
  }

  async #stageInSlices({ operations, accept, reject }: StagedCall): Promise<void> {
    const { clock, kept, requireOpen, losses } = this.#options;
    try {
      const slice = new TimeSlice(clock, { everyStep: true });
      let begun = losses();
      let steps = stagingSteps(operations, this.#context());
      for (;;) {
        const step = steps.next();
        if (step.done === true) {
          accept(step.value);
          const { changes, revision } = step.value;
          for (const kind of new Set(changes.map((change) => change.kind)))
            kept.settle(kind, revision);
          return;
        }
        if (!slice.due()) continue;
        await slice.pause();
        requireOpen();
        if (losses() === begun) continue;
        begun = losses();
        steps = stagingSteps(operations, this.#context());
      }
    } catch (error) {
      reject(error as Error);
    }
  }
}

/** Makes the changes of an accepted set the state that later transactions see. */
export function notePending(set: WriteSet, index: ObjectIndex, recent: RecentChanges): void {
  const { revision, changes, touches } = set;
  for (let at = 0; at < changes.length; at += 1) {
    const change = changes[at];
    const touch = touches[at];
    if (!change || !touch) continue;
    const { kind, type, entry } = change;
    index.table(kind).pending.set(entry.key, { entry, exists: type !== 'DELETED' });
    recent.note(kind, entry.object.namespace, touch, revision);
  }
}
