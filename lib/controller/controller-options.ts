import {
  type BackoffOptions,
  type Clock,
  type Logger,
  type Metrics,
  portRules,
  type Random,
  requireOptions,
  someText,
  storeRule,
  type Tracer,
} from '../base/index.js';
import type { KindWithConditions, ObjectKey } from '../object/index.js';
import type { ObjectStore } from '../store/index.js';
import type { RateLimiter } from '../workqueue/index.js';
import type { CauseRegistry } from './watches/causes.js';
import type { ReconcileContext, Reconciler, Request } from './reconcile/context.js';

/** Dependencies and bounds of a controller. */
export interface ControllerOptions<C extends Request = Request> {
  /** Unique; appears in logs and metrics. */
  readonly name: string;
  readonly reconcile: Reconciler<C>;
  /** Number of workers, a whole number; default 1. */
  readonly concurrency?: number;
  /** Time limit of one reconcile in milliseconds; default 60 s. */
  readonly timeoutMs?: number;
  /** Backoff of the retries of a key; default: client-go's, 5 ms doubling to 1000 s. */
  readonly backoff?: BackoffOptions;
  /** Limits the rate of retries of all keys, in addition to the backoff of each key; see TokenBucket. */
  readonly limiter?: RateLimiter<string>;
  /**
   * The group of a key; groups are served round-robin. See WorkQueue. It is asked for when the key is queued, and again for
   * all queued keys when the workers start: it may read the caches that the controller watches.
   */
  readonly groupOf?: (key: ObjectKey) => string;
  /**
   * Maximum concurrent reconciles of one group, a whole number; default: no maximum. Fewer than `concurrency`, so that
   * a group whose reconciles wait, such as for a remote system, delays no other.
   */
  readonly groupConcurrency?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly tracer?: Tracer;
  /** Share it between controllers to trace causes across them. */
  readonly causes?: CauseRegistry;
}

/** Options of a controller with a store: its runs write through `txn` and `effect`. */
export interface StoreControllerOptions extends ControllerOptions<ReconcileContext> {
  /** The store; for leader-only work a fenced one, see LeaderElector.fence. */
  readonly store: ObjectStore;
  /**
   * The reconciled kind, if it has a status field `conditions`: `fail` then sets the condition Stalled with its
   * reason and message, and the next run with another result makes it False. A kind whose `conditions` is not a status
   * field is refused with a TypeError.
   */
  readonly conditionsOf?: KindWithConditions;
  /**
   * `memory`: timers and failure counts end with the process, and no reconcile records are read or written; effects
   * still have records, which are not read at the start. For a controller over a remote store whose caller has no right
   * to reconcile records; it starts with all objects of its caches anyway. Default: `store`.
   */
  readonly timers?: 'store' | 'memory';
}

/**
 * Checks the options of a controller.
 * @throws TypeError, RangeError that names the option, its value and the expected value.
 */
export function requireControllerOptions(options: ControllerOptions<never>): void {
  const rules = { name: someText('a name, for logs and metrics'), ...portRules };
  requireOptions('Controller', options, rules);
  const { name, reconcile, concurrency = 1, timeoutMs = 1 } = options;
  // If the key `store` is present, a store is required, even if its value is undefined.
  if ('store' in options) requireOptions(`controller "${name}"`, options, { store: storeRule });
  const label = `controller "${name}"`;
  if (typeof reconcile !== 'function')
    throw new TypeError(`${label}: reconcile is ${String(reconcile)}; give a function`);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new RangeError(`${label}: concurrency is ${concurrency}; give a whole number, 1 or more`);
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0)
    throw new RangeError(
      `${label}: timeoutMs is ${timeoutMs}; give milliseconds, a finite number above 0`,
    );
}
