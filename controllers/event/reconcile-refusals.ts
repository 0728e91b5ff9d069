import {
  type ApiObject,
  type Clock,
  EventRecorder,
  hasCode,
  keyString,
  type Kind,
  type Lister,
  type Logger,
  type Manager,
  messageOf,
  type ObjectStore,
  parseFieldSelector,
  type Request,
  type Result,
  type StatusCode,
  StatusError,
} from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import { mask } from '../messages/mask.js';
import type { Reason } from '../reasons/index.js';
import { eventTtlMs } from './admission.js';
import { events } from './kind.js';

/** Number of refusals in a row from which on they are reported: earlier ones may be caused by a cache that lags. */
const reportedFrom = 3;
/** Maximum number of objects whose refusals are counted. Those beyond it are counted once others have ended. */
const countedMax = 4_096;
/** Longest refusal in a message, in characters. */
const shownMax = 1_000;
/** Time until the events of an earlier process are read again after a failure, milliseconds. */
const readAgainMs = 5_000;
/** Codes of failures that are no refusal: conflicts, ended runs, and a store that does not answer. */
const passing: ReadonlySet<StatusCode> = new Set([
  'Aborted',
  'Unavailable',
  'DeadlineExceeded',
  'Cancelled',
]);
const refused: Reason = 'ReconcileRefused';
const recovered: Reason = 'Reconciled';

/** Sealed values of the store, and tokens, also truncated ones. */
const secretTexts = /kedge-sealed:[\w:-]+|kedge_[a-z0-9]{16}_[\w-]{8,}/g;

/** Dependencies of {@link reportingRefusals}. */
export interface RefusalOptions<T extends ApiObject> {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The source of the events, unique in the cluster for each object, such as `volume controller`. */
  readonly source: string;
  /** The kind of the reconciled keys, whose cache has their objects. */
  readonly kind: Kind<T>;
  readonly manager: Manager;
}

interface Count {
  readonly uid: string;
  readonly refusals: number;
}

/** A refusal for people: without secrets, and of bounded length. */
function shownRefusal(message: string): string {
  const shown = message.slice(0, shownMax).replaceAll(secretTexts, mask);
  return message.length > shownMax ? `${shown}...` : shown;
}

/** Counts refusals by key, and records the events. */
class Refusals<T extends ApiObject> {
  readonly #options: RefusalOptions<T>;
  readonly #lister: Lister<T>;
  readonly #recorder: EventRecorder;
  readonly #counts = new Map<string, Count>();
  /** Uids of the objects about which an earlier process recorded a refusal last. */
  #earlier: Promise<Set<string>> | undefined;
  /** The monotonic time of the last failure to read them; undefined without one. */
  #unreadAt: number | undefined;

  constructor(options: RefusalOptions<T>) {
    this.#options = options;
    const { store, clock, logger, source, manager, kind } = options;
    this.#lister = manager.informer(kind).lister;
    this.#recorder = new EventRecorder({
      ...{ store, clock, logger, source },
      kind: events,
      ttlMs: eventTtlMs,
    });
  }

  /** Handles the end of a run. Never throws. @param error undefined if nothing was refused */
  ended(key: string, error: unknown): void {
    const isAgain =
      this.#unreadAt !== undefined &&
      this.#options.clock.monotonic() - this.#unreadAt >= readAgainMs;
    if (!this.#earlier || isAgain) this.#earlier = this.#readEarlier();
    const object = this.#lister.get(key);
    if (!object) {
      this.#counts.delete(key);
      return;
    }
    const { uid } = object.metadata;
    const known = this.#counts.get(key);
    const count = known?.uid === uid ? known.refusals : 0;
    if (error === undefined) {
      this.#counts.delete(key);
      void this.#earlier.then((earlier) => {
        if (earlier.delete(uid) || count >= reportedFrom) this.#record(object);
      });
      return;
    }
    // Other failures neither end a series of refusals nor extend it.
    if (!(error instanceof StatusError) || passing.has(error.code)) return;
    if (!known && this.#counts.size >= countedMax) return;
    this.#counts.set(key, { uid, refusals: count + 1 });
    if (count + 1 >= reportedFrom) this.#record(object, error);
  }

  #record(object: T, refusal?: StatusError): void {
    const { source, kind } = this.#options;
    const about = { kind: kind.kind, object };
    const reconcile = `the reconcile by the ${source}`;
    if (!refusal)
      return this.#recorder.record(
        about,
        'Normal',
        recovered,
        `${reconcile} is not refused any more`,
      );
    const { code, message } = refusal;
    const text = `${reconcile} is refused (${code}) and retried automatically: ${shownRefusal(message)}`;
    this.#recorder.record(about, 'Warning', refused, text);
  }

  async #readEarlier(): Promise<Set<string>> {
    const { store, source, logger, clock } = this.#options;
    const isFirst = this.#unreadAt === undefined;
    this.#unreadAt = undefined;
    const last = new Map<string, { readonly at: string; readonly reason: string }>();
    try {
      const { items } = await store.list(events, {
        fields: parseFieldSelector(`source=${source}`),
      });
      for (const { regarding, reason, lastSeenAt: at } of items)
        if (at >= (last.get(regarding.uid)?.at ?? '')) last.set(regarding.uid, { at, reason });
    } catch (error) {
      const message = "events of refused reconciles can't be read";
      const fields = { source, error: messageOf(error) };
      // A server of an earlier release does not permit it to a node: they stay until they expire.
      const isPermitted = !hasCode(error, 'PermissionDenied');
      if (isPermitted) this.#unreadAt = clock.monotonic();
      if (isPermitted && isFirst) logger.warn(`${message}; they are read again`, fields);
      else logger.debug(message, fields);
    }
    return new Set([...last].flatMap(([uid, { reason }]) => (reason === refused ? [uid] : [])));
  }
}

/**
 * Whether nothing was refused to a run: a refused write throws. A failed driver call is returned once it is in the status,
 * and so is a permanent failure.
 */
function isUnrefused(result: Result): boolean {
  if (result.type !== 'retry') return true;
  return result.error instanceof StatusError && result.error.cause instanceof DriverError;
}

/**
 * Wraps a reconciler: from the third refusal of an object in a row, records the refusal as a Warning event of the
 * object, and a Normal one once a run is not refused, also after a restart. A refusal is a StatusError other than Aborted,
 * Unavailable, DeadlineExceeded and Cancelled. It counts for at most 4,096 objects at a time. The result is unchanged.
 */
export function reportingRefusals<T extends ApiObject, C extends Request>(
  options: RefusalOptions<T>,
  reconcile: (context: C) => Promise<Result>,
): (context: C) => Promise<Result> {
  const refusals = new Refusals(options);
  return async (context) => {
    const key = keyString(context.key);
    let result: Result;
    try {
      result = await reconcile(context);
    } catch (error) {
      refusals.ended(key, error);
      throw error;
    }
    const error = result.type === 'retry' ? result.error : undefined;
    refusals.ended(key, isUnrefused(result) ? undefined : error);
    return result;
  };
}
