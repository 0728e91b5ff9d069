import type { Logger, LogFields } from './logger.js';
import { type Counter, type Metrics, noMetrics } from './metrics.js';

/** Dependencies of {@link CallbackFaults}. */
export interface CallbackFaultsOptions {
  /** Label `part` of the metric, such as `informer lamps`. */
  readonly part: string;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
}

/**
 * Reports faults of the embedder's callbacks: a callback that threw, or returned a value that its type forbids. Each
 * fault is one error line of the log, and increments the counter `callback_faults_total` with the labels `part` and
 * `callback`. Never throws if its logger and its metrics are guarded (see {@link guardedLogger},
 * {@link guardedMetrics}).
 */
export class CallbackFaults {
  readonly #part: string;
  readonly #logger: Logger;
  readonly #total: Counter;

  constructor(options: CallbackFaultsOptions) {
    this.#part = options.part;
    this.#logger = options.logger;
    this.#total = (options.metrics ?? noMetrics).counter({
      name: 'callback_faults_total',
      help: 'Callbacks of the embedding program that threw or returned a value that their type forbids',
      labels: ['part', 'callback'],
    });
  }

  /**
   * Logs and counts one fault of a callback.
   * @param callback name of the callback, such as `predicate` or `index room`: from a bounded set
   * @param fields further fields of the log line
   */
  report(callback: string, error: unknown, fields: LogFields = {}): void {
    this.#logger.error('callback threw', { callback, ...fields, error });
    this.#total.inc({ part: this.#part, callback });
  }
}

/**
 * Returns the value that a callback returned, unless it is a promise. A promise is useless where
 * the value is needed synchronously, and its rejection would end the process.
 * @throws TypeError for a promise.
 */
export function requireSynchronous<R>(callback: string, given: R): R {
  if (!(given instanceof Promise)) return given;
  given.catch(() => undefined);
  throw new TypeError(`${callback} returned a promise; it must return synchronously`);
}
