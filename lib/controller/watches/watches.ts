import { type CallbackFaults, requireSynchronous } from '../../base/index.js';
import type { HandlerRegistration, Notification, SharedInformer } from '../../informer/index.js';
import { type ApiObject, keyString, type ObjectKey } from '../../object/index.js';
import type { Cause } from './causes.js';
import type { Predicate } from './predicates.js';

/**
 * The priority of the first list. It is lower than that of live changes, so that these do not wait for the list; see
 * WorkQueue's lower share.
 */
export const initialPriority = -100;

/** An update from one version to another. */
export interface Step {
  /** Kind and key of the object. */
  readonly object: string;
  readonly before: string;
  readonly after: string;
}

/** The request to queue a key of a controller. */
export interface Wake {
  readonly key: string;
  readonly cause: Cause;
  readonly priority: number;
  /** Set for an update: it does not queue the key whose own run wrote it. */
  readonly step?: Step;
}

/**
 * Returns the keys that a state of an object queues. It is called for both states of an update,
 * each time with the other state: an object with many dependent keys can queue only those that the
 * difference affects.
 */
export type WatchMap<T extends ApiObject> = (object: T, other?: T) => readonly ObjectKey[];

/** One watch of a controller. */
export interface WatchOptions<T extends ApiObject> {
  readonly informer: SharedInformer<T>;
  /** Name of the kind, for causes. */
  readonly kind: string;
  /** Name of the watch, for messages of waiting callers. */
  readonly name: string;
  /** The keys that an object queues; absent: its own key, without parsing the object. */
  readonly map?: WatchMap<T>;
  readonly predicate?: Predicate<T> | undefined;
  readonly faults: CallbackFaults;
  readonly wake: (wake: Wake) => void;
}

const types = { add: 'added', update: 'updated', delete: 'deleted', replace: 'added' } as const;

/**
 * Feeds a controller from an informer: the keys of the previous and the present state, each once.
 *
 * Errors: if a predicate throws, the update passes, because an extra run is harmless. If a map throws for one
 * state, the keys of the other state are queued; invalid keys are skipped. Each fault is reported.
 */
export function registerWatch<T extends ApiObject>(options: WatchOptions<T>): HandlerRegistration {
  const { informer, kind, map, predicate, faults } = options;

  const passes = (before: T, object: T, key: string): boolean => {
    if (!predicate) return true;
    try {
      return requireSynchronous('predicate', predicate(before, object));
    } catch (error) {
      faults.report('predicate', error, { object: `${kind} ${key}` });
      return true;
    }
  };

  const addKeys = (keys: Set<string>, of: WatchMap<T>, object: T, other?: T): void => {
    const report = (error: unknown): void => {
      const { resourceVersion } = object.metadata;
      faults.report('map', error, { object: `${kind} ${object.name}`, resourceVersion });
    };
    try {
      for (const key of requireSynchronous('map', of(object, other)))
        if (isKey(key)) keys.add(keyString(key));
        else report(new TypeError(`map returned ${JSON.stringify(key)}; return keys with a name`));
    } catch (error) {
      report(error);
    }
  };

  const keysOf = (notification: Notification<T>): Iterable<string> => {
    const { entry, type } = notification;
    if (!map) return [entry.key];
    // Each key of the old and the new state is queued once: a waiting worker may take a key at once, and would run it
    // twice.
    const keys = new Set<string>();
    if (type === 'update') {
      const before = notification.before.object;
      addKeys(keys, map, before, entry.object);
      addKeys(keys, map, entry.object, before);
      return keys;
    }
    if ('delivered' in notification && notification.delivered)
      addKeys(keys, map, notification.delivered.object);
    if ('before' in notification) addKeys(keys, map, notification.before.object);
    addKeys(keys, map, entry.object);
    return keys;
  };

  const notified = (notification: Notification<T>): void => {
    const { entry, type } = notification;
    const { key: object, resourceVersion } = entry;
    if (
      type === 'update' &&
      predicate &&
      !passes(notification.before.object, entry.object, entry.key)
    )
      return;
    const cause: Cause = { type: types[type], kind, object, resourceVersion };
    const initial = type === 'add' && notification.initial;
    const wake = {
      cause,
      priority: initial ? initialPriority : 0,
      ...(type === 'update' ? { step: stepOf(kind, notification) } : {}),
    };
    for (const key of keysOf(notification)) options.wake({ ...wake, key });
  };
  return informer.addNotificationHandler(notified, { name: options.name });
}

function isKey(key: unknown): key is ObjectKey {
  if (typeof key !== 'object' || key === null) return false;
  const { name, namespace } = key as Record<keyof ObjectKey, unknown>;
  const named = typeof name === 'string' && name !== '';
  return named && (namespace === undefined || typeof namespace === 'string');
}

function stepOf<T extends ApiObject>(
  kind: string,
  { before, entry }: Notification<T> & { type: 'update' },
): Step {
  return {
    object: `${kind} ${entry.key}`,
    before: before.resourceVersion,
    after: entry.resourceVersion,
  };
}

/** A watch that can be removed. */
export interface WatchHandle extends Disposable {
  remove(): void;
}
