import { type Clock, type Logger, StatusError } from '../../base/index.js';
import { type ApiObject, type Kind, type ObjectKey, parseKey } from '../../object/index.js';
import type { Cause, CauseRegistry } from '../watches/causes.js';
import type { ReconcileContext } from './context.js';
import type { Durability } from './durability.js';
import type {
  EffectCall,
  EffectOperation,
  EffectOutcome,
  Json,
  OperationIds,
} from '../effects/effect.js';
import type { Transaction } from '../transactions/transaction-contract.js';

/** Options of a run. */
export interface RunInit {
  readonly key: string;
  readonly run: number;
  readonly failures: number;
  readonly causes: readonly Cause[];
  readonly authors: CauseRegistry;
  readonly timeoutMs: number;
  /** Called once when the run exceeds its timeout, at the latest when it ends. */
  readonly onTimeout: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly durability: Durability | undefined;
}

/**
 * One run of a reconciler. Signal, timer and logger are created on first use, because most runs find nothing to do.
 */
export class RunContext implements ReconcileContext {
  readonly run: number;
  readonly failures: number;
  readonly startedAt: number;
  readonly #init: RunInit;
  #key: ObjectKey | undefined;
  #logger: Logger | undefined;
  #abort: AbortController | undefined;
  #cancelTimer: (() => void) | undefined;
  #stopped = false;
  #timedOut = false;

  constructor(init: RunInit) {
    this.#init = init;
    this.run = init.run;
    this.failures = init.failures;
    this.startedAt = init.clock.monotonic();
  }

  /** The causes, with the authors known by now: an author may become known during the run. */
  get causes(): readonly Cause[] {
    return this.#init.authors.resolved(this.#init.causes);
  }

  get key(): ObjectKey {
    this.#key ??= parseKey(this.#init.key);
    return this.#key;
  }

  get logger(): Logger {
    const { logger, key, run } = this.#init;
    this.#logger ??= logger.child({ key, run });
    return this.#logger;
  }

  get signal(): AbortSignal {
    if (this.#abort) return this.#abort.signal;
    const abort = new AbortController();
    this.#abort = abort;
    const { clock, timeoutMs } = this.#init;
    if (this.#stopped) {
      abort.abort();
    } else {
      const leftMs = this.startedAt + timeoutMs - clock.monotonic();
      const expire = (): void => {
        this.#noteTimeout();
        abort.abort(timedOut(timeoutMs));
      };
      const timer = clock.setTimer(expire, Math.max(0, leftMs));
      this.#cancelTimer = () => timer.cancel();
    }
    return abort.signal;
  }

  txn<R>(work: (transaction: Transaction) => R | Promise<R>): Promise<R> {
    return this.#store().txn(this.#init.key, this, work);
  }

  effect<T extends ApiObject, R extends Json>(
    kind: Kind<T>,
    object: T,
    name: string,
    call: EffectCall<R>,
  ): Promise<R>;
  effect<T extends ApiObject, R extends Json>(
    kind: Kind<T>,
    object: T,
    name: string,
    operation: EffectOperation<R>,
  ): Promise<EffectOutcome<R>>;
  effect<T extends ApiObject>(
    kind: Kind<T>,
    object: T,
    name: string,
    how: EffectCall<Json> | EffectOperation<Json>,
  ): Promise<Json | EffectOutcome<Json>> {
    const { key } = this.#init;
    const { effects } = this.#store();
    if (typeof how === 'function') return effects.call(key, kind, object, name, how);
    return effects.operate(key, kind, object, name, how);
  }

  operations<T extends ApiObject>(kind: Kind<T>, object: T): OperationIds {
    return this.#store().effects.ids(this.#init.key, kind, object);
  }

  /** Aborts the signal, because the controller stops. */
  stop(): void {
    this.#stopped = true;
    this.#abort?.abort();
  }

  /** Ends the run: cancels its timer, and reports a timeout that was not reported yet. */
  end(): void {
    this.#cancelTimer?.();
    const { clock, timeoutMs } = this.#init;
    if (clock.monotonic() - this.startedAt >= timeoutMs) this.#noteTimeout();
  }

  #noteTimeout(): void {
    if (!this.#timedOut) this.#init.onTimeout();
    this.#timedOut = true;
  }

  /**
   * Returns the durable parts of runs.
   * @throws TypeError without a store, for callers that bypass the types: these give a reconciler without a store no
   * `txn`
   */
  #store(): Durability {
    const { durability } = this.#init;
    if (!durability) throw new TypeError('txn and effect need a store: pass one to newController');
    return durability;
  }
}

function timedOut(timeoutMs: number): StatusError {
  return new StatusError({
    code: 'DeadlineExceeded',
    reason: 'ReconcileTimeout',
    message: `reconcile took longer than ${timeoutMs} ms`,
  });
}
