import { type Clock, type Logger, messageOf, type Random, timestamp } from '../../base/index.js';
import type { SharedInformer } from '../../informer/index.js';
import {
  findCondition,
  type KindWithConditions,
  parseKey,
  setCondition,
} from '../../object/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { CauseRegistry } from '../watches/causes.js';
import type { Request } from './context.js';
import { Effects } from '../effects/effects.js';
import { Journal } from '../effects/journal.js';
import { effectOperations } from '../transactions/effect-guard.js';
import type { OwnWrites } from '../watches/own-writes.js';
import { isWait, requireResult, type Result } from './result.js';
import { runTransaction, type Written } from '../transactions/transaction.js';
import type { Transaction } from '../transactions/transaction-contract.js';

/**
 * Delays of at least this length are stored. Shorter ones are not: the first list after a restart queues the objects.
 */
const durableMs = 60_000;
const keysMax = 10_000;
/** The condition of an object whose reconcile failed permanently. */
const stalled = 'Stalled';

/** Dependencies of {@link Durability}. */
export interface DurabilityOptions {
  readonly store: ObjectStore;
  readonly controller: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly ownWrites: OwnWrites;
  readonly authors: CauseRegistry;
  readonly conditionsOf: KindWithConditions | undefined;
  /** See {@link StoreControllerOptions.timers}. Default: `store`. */
  readonly timers?: 'store' | 'memory';
}

/** A waiting key of an earlier process. */
export interface Restored {
  readonly key: string;
  readonly failures: number;
  readonly delayMs: number | undefined;
}

/** The durable parts of runs with a store: transactions, effects, durable timers. */
export class Durability {
  readonly #options: DurabilityOptions;
  readonly #journal: Journal;
  /** External calls of the controller's runs. */
  readonly effects: Effects;
  /** The last revision that a key's runs wrote, by kind: the next run must not read older state. */
  readonly #wroteAt = new Map<string, ReadonlyMap<string, number>>();
  /** Keys whose object is known not to be stalled; saves a read. */
  readonly #notStalled = new Set<string>();
  /** Id of the store to which the known writes belong. */
  #storeId: string;

  constructor(options: DurabilityOptions) {
    const { conditionsOf } = options;
    if (conditionsOf && !conditionsOf.statusFields.includes('conditions'))
      throw new TypeError(
        `conditionsOf: "conditions" is not a status field of ${conditionsOf.kind}; add it to statusFields`,
      );
    this.#options = options;
    this.#storeId = options.store.storeId;
    this.#journal = new Journal(options.store, options.controller, options.timers !== 'memory');
    this.effects = new Effects({ ...options, journal: this.#journal });
  }

  /** The waiting keys of an earlier process; a time in the past means at once. */
  async load(): Promise<readonly Restored[]> {
    if (this.#options.timers === 'memory') return [];
    const now = this.#options.clock.now();
    // If an earlier process left effects of a key, its last run did not end or the key waits: queue it at once, or
    // after its delay.
    const restored = new Map<string, Restored>();
    for (const key of await this.effects.load())
      restored.set(key, { key, failures: 0, delayMs: 0 });
    for (const { key, dueAt, failures, effects } of await this.#journal.load()) {
      const at = effects ? now : (dueAt ?? (restored.has(key) ? now : undefined));
      const delayMs = at === undefined ? undefined : Math.max(0, at - now);
      restored.set(key, { key, failures: failures ?? 0, delayMs });
    }
    return [...restored.values()];
  }

  /** True while the key's last run wrote something that {@link awaitOwnWrites} has not confirmed. */
  mustWait(key: string): boolean {
    this.#forgetOtherStore();
    return this.#wroteAt.has(key);
  }

  /** Forgets the known writes if the store was replaced: a restored store lacks later writes and has other versions. */
  #forgetOtherStore(): void {
    const { storeId } = this.#options.store;
    if (storeId === this.#storeId) return;
    this.#storeId = storeId;
    this.#wroteAt.clear();
    this.#options.ownWrites.clear();
    this.#notStalled.clear();
  }

  /**
   * Waits until the caches contain the key's own writes. Caches of a store in the same process contain them already.
   * @throws the abort reason of `signal`, if the caches lag until then
   */
  async awaitOwnWrites(
    key: string,
    informers: Iterable<SharedInformer>,
    signal: AbortSignal,
  ): Promise<void> {
    const revisions = this.#wroteAt.get(key);
    // Caches of other kinds may follow another store, whose revisions are not comparable.
    for (const informer of informers)
      await informer.waitForRevision(revisions?.get(informer.kind) ?? 0, signal);
    // The store was replaced during the wait: the caches never reach the old revision.
    this.#forgetOtherStore();
    if (this.#wroteAt.has(key)) signal.throwIfAborted();
    this.#wroteAt.delete(key);
  }

  /** Implements ReconcileContext.txn, with its results and errors. */
  async txn<R>(
    key: string,
    request: Request,
    work: (transaction: Transaction) => R | Promise<R>,
  ): Promise<R> {
    const { store, clock } = this.#options;
    const dueOf = (result: unknown): number | undefined => {
      if (!isWait(result)) return undefined;
      requireResult(result);
      return durableDue(result, clock);
    };
    await this.#journal.refresh(key);
    const result = await runTransaction(
      store,
      work,
      async (made, attempt) => [
        ...this.#journal.settled(key, dueOf(made)),
        ...(await effectOperations(store, attempt, this.effects.given(key))),
      ],
      (written) => this.#note(key, written, request),
    ).catch((error: unknown) => {
      this.#journal.doubt(key);
      throw error;
    });
    this.#journal.committed(key, { dueAt: dueOf(result) });
    this.effects.committed(key);
    return result;
  }

  #note(key: string, written: readonly Written[], request: Request): void {
    const { ownWrites, authors, controller } = this.#options;
    const { run } = request;
    const author = { controller, key, run, causes: written.length > 0 ? request.causes : [] };
    for (const { kind, key: object, before, after } of written) {
      if (before !== undefined) ownWrites.note(key, { object: `${kind} ${object}`, before, after });
      authors.wrote({ kind, object, resourceVersion: after }, author);
      this.#wroteAt.set(key, new Map(this.#wroteAt.get(key)).set(kind, Number(after)));
    }
    if (this.#wroteAt.size > keysMax) deleteOldest(this.#wroteAt);
  }

  /** Stores the result of a run without a retry. */
  async settle(key: string, result: Result): Promise<void> {
    const dueAt = durableDue(result, this.#options.clock);
    // Effects that no transaction of this run removed are kept for the next run.
    await this.effects.settle(key);
    await this.#write(key, dueAt, undefined);
    await this.#condition(key, result);
  }

  /** Updates the condition Stalled for a result: only `fail` leaves an object stalled. */
  async #condition(key: string, result: Result): Promise<void> {
    const { conditionsOf, logger } = this.#options;
    if (!conditionsOf || (result.type !== 'fail' && this.#notStalled.has(key))) return;
    try {
      await this.#setStalled(key, conditionsOf, result);
      this.#notStalled.delete(key);
      if (result.type !== 'fail') this.#notStalled.add(key);
      if (this.#notStalled.size > keysMax) deleteOldest(this.#notStalled);
    } catch (error) {
      logger.warn('condition could not be set', { key, error: messageOf(error) });
    }
  }

  async #setStalled(key: string, kind: KindWithConditions, result: Result): Promise<void> {
    const { store, clock, ownWrites } = this.#options;
    const failed = result.type === 'fail' ? result : undefined;
    const recovered = result.type === 'retry' ? 'Retrying' : 'Reconciled';
    await runTransaction(
      store,
      async (transaction) => {
        const object = await transaction.get(kind, parseKey(key));
        if (!object || (!failed && !findCondition(object.conditions, stalled))) return;
        const next = {
          type: stalled,
          status: failed ? ('True' as const) : ('False' as const),
          reason: failed?.reason ?? recovered,
          message: failed?.message ?? '',
          observedGeneration: object.metadata.generation,
        };
        const conditions = setCondition(object.conditions, next, timestamp(clock));
        transaction.updateStatus(kind, parseKey(key), { conditions });
      },
      () => [],
      (written) => {
        for (const { kind: of, key: object, before, after } of written)
          if (before !== undefined)
            ownWrites.note(key, { object: `${of} ${object}`, before, after });
      },
    );
  }

  /** Stores the result of a retried run: a long delay and the failure count survive a restart. */
  async remember(key: string, result: Result, delayMs: number, failures: number): Promise<void> {
    await this.effects.settle(key);
    await this.#condition(key, result);
    if (delayMs < durableMs) return;
    await this.#write(key, this.#options.clock.now() + delayMs, failures);
  }

  async #write(
    key: string,
    dueAt: number | undefined,
    failures: number | undefined,
  ): Promise<void> {
    try {
      await this.#journal.refresh(key);
      const { operations, next } = this.#journal.schedule(key, dueAt, failures);
      await this.#journal.write(key, operations, next);
    } catch (error) {
      // The timer still runs in this process; only a restart would lose it.
      this.#options.logger.warn('timer could not be made durable', {
        key,
        error: messageOf(error),
      });
    }
  }
}

/** Deletes the oldest entry: maps and sets keep insertion order. */
function deleteOldest(entries: Map<string, unknown> | Set<string>): void {
  const oldest = entries.keys().next();
  if (!oldest.done) entries.delete(oldest.value);
}

function durableDue(result: Result, clock: Clock): number | undefined {
  if (result.type === 'requeueAfter' && result.isStored === false) return undefined;
  const waitMs =
    result.type === 'requeueAfter'
      ? result.delayMs
      : result.type === 'pending'
        ? result.pollAfterMs
        : 0;
  // A shorter delay for an effect needs no timer: its record queues the key after a restart.
  return waitMs < durableMs ? undefined : clock.now() + waitMs;
}
