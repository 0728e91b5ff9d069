import {
  type BackoffOptions,
  type Clock,
  requireOptions,
  type Logger,
  type Metrics,
  portRules,
  type Random,
  requireBackoff,
  someText,
  StatusError,
  withMethods,
} from '../base/index.js';
import type { ApiObject, ListWatch } from '../object/index.js';

/** The backoff of client-go's reflector: 0.8 s doubling to 30 s. */
export const defaultBackoff: BackoffOptions = { baseMs: 800, maxMs: 30_000, jitter: 0.5 };

/** Dependencies and bounds of an informer. */
export interface InformerOptions<T extends ApiObject> {
  readonly source: ListWatch<T>;
  /** Name of the informer, for log lines and health. */
  readonly name: string;
  /** The kind's name, for causes; default `name`. */
  readonly kind?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly backoff?: BackoffOptions;
  /**
   * A stream without any message, even a bookmark, for this long is restarted. Default: the value of the source, or
   * never.
   */
  readonly silenceMs?: number;
  /**
   * A cache that has lagged behind its source, or whose watch has failed, for this long is unhealthy; default 30 s.
   */
  readonly staleAfterMs?: number;
  /** A handler whose call lasts longer than this makes the informer unhealthy; default 5 minutes. */
  readonly stuckAfterMs?: number;
}

/** Options of a handler. */
export interface HandlerOptions {
  /** Name in log lines, health, and `waitingFor`; default `handler <n>`. */
  readonly name?: string;
}

/** A handler's subscription. */
export interface HandlerRegistration {
  readonly name: string;
  /** True once the handler received every object of the first list. */
  hasSynced(): boolean;
  /**
   * Resolves once {@link hasSynced}, or when the handler is removed.
   * @throws StatusError FailedPrecondition when the informer is closed before.
   */
  waitForSync(): Promise<void>;
  /** Number of keys with changes that the handler has not received yet; changes of one key are coalesced. */
  readonly lag: number;
  /** Ends the subscription: a call in progress continues, but no other call is made. */
  remove(): void;
}

/** The error of an informer that is used after its `close`. */
export function informerClosed(name: string): StatusError {
  return new StatusError({
    code: 'FailedPrecondition',
    reason: 'InformerClosed',
    message: `the informer of ${name} is closed; create a new one`,
  });
}

const source = withMethods('store.source(kind), or another ListWatch', 'list', 'watch');

/** Checks the options of an informer. @throws TypeError, RangeError that names an invalid option and its value. */
export function requireInformerOptions<T extends ApiObject>(options: InformerOptions<T>): void {
  const rules = { source, name: someText('a name, for logs and health'), ...portRules };
  requireOptions('SharedInformer', options, rules);
  requireBackoff('backoff', options.backoff ?? defaultBackoff);
}
