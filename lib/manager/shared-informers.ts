import {
  type Clock,
  type Logger,
  type Metrics,
  type Random,
  sleep,
  StatusError,
  untilAborted,
  within,
} from '../base/index.js';
import { SharedInformer } from '../informer/index.js';
import type { AnyKind, ApiObject, Kind } from '../object/index.js';
import type { ObjectStore } from '../store/index.js';
import type { HealthCheck } from './health.js';

/** Dependencies of the informers. */
export interface SharedInformersOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  /** A handler whose call lasts longer makes its informer unhealthy, milliseconds. */
  readonly stuckAfterMs: number | undefined;
}

/** The error of a start that timed out; `missing` names the awaited caches. */
export function syncTimeout(timeoutMs: number, missing: string): StatusError {
  return new StatusError({
    code: 'DeadlineExceeded',
    reason: 'CacheSyncTimeout',
    message: `caches did not sync within ${timeoutMs} ms: ${missing}; check the log for errors of their source and for handlers that do not return`,
  });
}

/** The informers of a manager: one per kind. */
export class SharedInformers {
  readonly #options: SharedInformersOptions;
  readonly #informers = new Map<string, SharedInformer>();
  /** The kind of each informer. */
  readonly #kinds = new Map<string, AnyKind>();

  constructor(options: SharedInformersOptions) {
    this.#options = options;
  }

  /**
   * The existing informer of this kind; undefined if there is none.
   * @throws TypeError for another kind of the same name
   */
  find<T extends ApiObject, S extends string, I extends string>(
    kind: Kind<T, S, I>,
  ): SharedInformer<T, I> | undefined {
    const known = this.#informers.get(kind.kind);
    if (known && this.#kinds.get(kind.kind) !== kind)
      throw new TypeError(
        `two kinds are named "${kind.kind}": declare the kind once and import it where it is used`,
      );
    // The kind is the same value, so its informer has this type.
    return known as SharedInformer<T, I> | undefined;
  }

  make<T extends ApiObject, S extends string, I extends string>(
    kind: Kind<T, S, I>,
  ): SharedInformer<T, I> {
    const { store, clock, random, logger, metrics, stuckAfterMs } = this.#options;
    const informer = new SharedInformer<T, I>({
      source: store.source(kind),
      name: kind.plural,
      kind: kind.kind,
      clock,
      random,
      logger,
      ...(metrics ? { metrics } : {}),
      ...(stuckAfterMs === undefined ? {} : { stuckAfterMs }),
    });
    for (const [name, of] of Object.entries(kind.indexes)) if (of) informer.addIndex(name, of);
    this.#informers.set(kind.kind, informer);
    this.#kinds.set(kind.kind, kind);
    return informer;
  }

  start(): void {
    for (const informer of this.#informers.values()) informer.start();
  }

  /** Kinds whose caches have not synced. */
  get unsynced(): readonly string[] {
    return [...this.#informers].filter(([, i]) => !i.hasSynced()).map(([kind]) => kind);
  }

  /**
   * Resolves when all present informers have their first list; it does not wait for handlers.
   * @throws StatusError DeadlineExceeded, reason CacheSyncTimeout, that names those that timed out
   * @throws StatusError Cancelled when `signal` aborts
   */
  async waitForCaches(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const all = Promise.all([...this.#informers.values()].map((i) => i.waitForCache()));
    const waiting = within(all, (over) => sleep(clock, timeoutMs, over));
    const outcome = await untilAborted(waiting, signal);
    if (outcome.type === 'failed') throw outcome.error;
    if (outcome.type === 'done') return;
    const missing = [...this.#informers]
      .filter(([, informer]) => !informer.hasSynced())
      .map(([kind, informer]) => `${kind} (${informer.health().message})`);
    throw syncTimeout(timeoutMs, missing.join(', '));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.close()));
  }

  health(): readonly HealthCheck[] {
    return [...this.#informers].map(([name, informer]) => ({
      name: `informer ${name}`,
      ...informer.health(),
    }));
  }
}
