import {
  type Clock,
  linkSignals,
  type Logger,
  messageOf,
  type Random,
  silentLogger,
  sleep,
  StatusError,
  systemClock,
  systemRandom,
} from '../base/index.js';
import { type ApiObject, keyOf, keyString, type ObjectKey, parseKey } from '../object/index.js';
import type { HandlerRegistration, SharedInformer } from '../informer/index.js';
import { type BackoffOptions } from '../base/index.js';
import { defaultBackoff, ItemBackoff, RateLimitingQueue } from '../workqueue/index.js';
import { type Result, retry } from './result.js';

/** What a reconciler is given: a name, never the event that woke it. */
export interface Request {
  readonly key: ObjectKey;
  /** Aborts at the time limit and when the controller stops. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Failures in a row before this run. */
  readonly failures: number;
}

/** Drives one object towards its desired state. Must be idempotent and level-triggered. */
export type Reconciler = (request: Request) => Promise<Result>;

/** Ports and bounds of a controller. */
export interface ControllerOptions {
  /** Unique; appears in logs and metrics. */
  readonly name: string;
  readonly reconcile: Reconciler;
  /** Keys worked on at once; default 1. */
  readonly concurrency?: number;
  /** Time limit of one reconcile in milliseconds; default 60 s. */
  readonly timeoutMs?: number;
  readonly backoff?: BackoffOptions;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** Decides whether an update wakes the controller. */
export type Predicate<T extends ApiObject> = (before: T, object: T) => boolean;

/** Counters of a controller. */
export interface ControllerStats {
  readonly reconciles: number;
  readonly errors: number;
  readonly terminalErrors: number;
  readonly active: number;
  readonly queued: number;
}

const defaultTimeoutMs = 60_000;
/** Time that an aborted reconcile gets to end. */
const abortMs = 1_000;

/** A queue of keys, workers, and the watches that feed it. Build with {@link newController}. */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #queue: RateLimitingQueue<string>;
  readonly #informers = new Set<SharedInformer<never>>();
  readonly #registrations: HandlerRegistration[] = [];
  readonly #stop = new AbortController();
  #workers: Promise<void>[] = [];
  readonly #stats = { reconciles: 0, errors: 0, terminalErrors: 0, active: 0 };

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = (options.logger ?? silentLogger).child({ controller: options.name });
    const limiter = new ItemBackoff<string>(
      options.random ?? systemRandom,
      options.backoff ?? defaultBackoff,
    );
    this.#queue = new RateLimitingQueue(this.#clock, limiter);
  }

  /** The kind this controller reconciles: each of its objects is a request. */
  for<T extends ApiObject>(informer: SharedInformer<T>, predicate?: Predicate<T>): this {
    return this.watches(informer, (object) => [keyOf(object)], predicate);
  }

  /** Objects whose owner reference names `ownerKind` wake that owner, found in the object's namespace. */
  owns<T extends ApiObject>(informer: SharedInformer<T>, ownerKind: string): this {
    return this.watches(informer, (object) =>
      (object.metadata.ownerReferences ?? [])
        .filter((owner) => owner.kind === ownerKind)
        .map((owner) => keyOf({ ...object, name: owner.name })),
    );
  }

  /** Wakes the keys that `map` gives, for the old and the new state of every changed object. */
  watches<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: (object: T) => readonly ObjectKey[],
    predicate?: Predicate<T>,
  ): this {
    // Deduplicated over old and new: a key that a waiting worker takes at once must not come twice.
    const wake = (...states: readonly T[]): void => {
      const keys = new Set(states.flatMap((object) => map(object).map(keyString)));
      for (const key of keys) this.#queue.add(key);
    };
    this.#informers.add(informer as unknown as SharedInformer<never>);
    this.#registrations.push(
      informer.addHandler({
        onAdd: (object) => wake(object),
        onUpdate: (before, object) => {
          if (predicate && !predicate(before, object)) return;
          wake(before, object);
        },
        onDelete: ({ object }) => wake(object),
      }),
    );
    return this;
  }

  /** Wakes one key by hand. */
  enqueue(key: ObjectKey): void {
    this.#queue.add(keyString(key));
  }

  stats(): ControllerStats {
    return { ...this.#stats, queued: this.#queue.len };
  }

  /** Starts the workers once every cache has synced and its initial list was told. */
  async start(): Promise<void> {
    await Promise.all([...this.#informers].map((informer) => informer.waitForSync()));
    const count = this.#options.concurrency ?? 1;
    this.#workers = Array.from({ length: count }, () => this.#work());
  }

  /**
   * Takes no more keys, lets what runs go on for `graceMs`, then aborts it. Resolves when the workers
   * ended, at the latest `abortMs` after the abort: a reconcile that ignores its signal is told in
   * the log and left behind.
   */
  async stop(graceMs = 5_000): Promise<void> {
    for (const registration of this.#registrations) registration.remove();
    this.#queue.shutDown();
    const ended = new AbortController();
    const workers = Promise.all(this.#workers).then(() => ended.abort());
    await Promise.race([workers, sleep(this.#clock, graceMs, ended.signal)]);
    this.#stop.abort();
    await Promise.race([workers, sleep(this.#clock, abortMs, ended.signal)]);
    if (!ended.signal.aborted)
      this.#logger.warn('reconciles ignored their abort and were left behind', {
        active: this.#stats.active,
      });
  }

  async #work(): Promise<void> {
    for (;;) {
      const handout = await this.#queue.get();
      if (handout.shutDown) return;
      this.#stats.active += 1;
      const result = await this.#reconcile(handout.key);
      this.#stats.active -= 1;
      this.#settle(handout.key, result);
      this.#queue.done(handout.key);
    }
  }

  async #reconcile(key: string): Promise<Result> {
    const limit = new AbortController();
    const timeoutMs = this.#options.timeoutMs ?? defaultTimeoutMs;
    const timer = this.#clock.setTimer(
      () =>
        limit.abort(
          new StatusError({
            code: 'DeadlineExceeded',
            reason: 'ReconcileTimeout',
            message: `reconcile took longer than ${timeoutMs} ms`,
          }),
        ),
      timeoutMs,
    );
    this.#stats.reconciles += 1;
    using link = linkSignals(limit.signal, this.#stop.signal);
    try {
      return await this.#options.reconcile({
        key: parseKey(key),
        signal: link.signal,
        logger: this.#logger.child({ key }),
        failures: this.#queue.failures(key),
      });
    } catch (error) {
      return retry(error);
    } finally {
      timer.cancel();
    }
  }

  #settle(key: string, result: Result): void {
    switch (result.type) {
      case 'done':
        this.#queue.forget(key);
        return;
      case 'requeueAfter':
        this.#queue.forget(key);
        this.#queue.addAfter(key, result.delayMs);
        return;
      case 'retry': {
        this.#stats.errors += 1;
        const delayMs = this.#queue.addRateLimited(key, result.error);
        this.#log(key, result.error, delayMs);
        return;
      }
      case 'fail':
        this.#stats.terminalErrors += 1;
        this.#logger.warn('reconcile failed for good', {
          key,
          reason: result.reason,
          error: result.message,
        });
        return;
    }
  }

  /** A conflict is everyday life for optimistic writers: it is retried without a warning. */
  #log(key: string, error: unknown, delayMs: number): void {
    const everyday = error instanceof StatusError && error.code === 'Aborted';
    const fields = { key, error: messageOf(error), retryInMs: Math.round(delayMs) };
    if (everyday) this.#logger.debug('reconcile again', fields);
    else this.#logger.warn('reconcile failed, will retry', fields);
  }
}

/**
 * A controller; add its watches, then hand it to a manager.
 *
 * @example
 * const controller = newController({ name: 'lamp', reconcile }).for(lamps).owns(bulbs, 'Lamp');
 */
export function newController(options: ControllerOptions): Controller {
  return new Controller(options);
}
