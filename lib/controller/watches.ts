import type { ApiObject, ObjectKey } from '../object/index.js';
import { keyString } from '../object/index.js';
import type { HandlerRegistration, Notification, SharedInformer } from '../informer/index.js';
import type { Cause, CauseRegistry } from './causes.js';
import type { Predicate } from './predicates.js';

/** Below live changes, so that these need not wait for the first list; see WorkQueue's lower share. */
export const initialPriority = -100;

/** An update from one version to another. */
export interface Step {
  /** Kind and key of the object. */
  readonly object: string;
  readonly before: string;
  readonly after: string;
}

/** What a watch wakes a controller with. */
export interface Wake {
  readonly key: string;
  readonly cause: Cause;
  readonly priority: number;
  /** Set for an update: it does not wake the key whose own run wrote it. */
  readonly step?: Step;
}

/** One source of wake-ups. */
export interface WatchOptions<T extends ApiObject> {
  readonly informer: SharedInformer<T>;
  /** Kind's name, for causes. */
  readonly kind: string;
  /** The keys an object wakes; absent: its own, without parsing it. */
  readonly map?: (object: T) => readonly ObjectKey[];
  readonly predicate?: Predicate<T> | undefined;
  readonly authors: CauseRegistry;
  readonly wake: (wake: Wake) => void;
}

const types = { add: 'added', update: 'updated', delete: 'deleted', replace: 'added' } as const;

/** Feeds a controller from an informer: the keys of the old and the new state, each once. */
export function registerWatch<T extends ApiObject>(options: WatchOptions<T>): HandlerRegistration {
  const { informer, kind, map, predicate, authors } = options;

  const keysOf = (notification: Notification<T>): Iterable<string> => {
    const { entry } = notification;
    if (!map) return [entry.key];
    const states = [entry.object];
    if ('before' in notification) states.unshift(notification.before.object);
    // Deduplicated over old and new: a key that a waiting worker takes at once must not come twice.
    return new Set(states.flatMap((object) => map(object).map(keyString)));
  };

  return informer.addNotificationHandler((notification) => {
    const { entry, type } = notification;
    if (type === 'update' && predicate && !predicate(notification.before.object, entry.object))
      return;
    const { resourceVersion } = entry;
    const by = authors.authorOf(resourceVersion);
    const cause: Cause = {
      type: types[type],
      kind,
      object: entry.key,
      resourceVersion,
      ...(by ? { by } : {}),
    };
    const initial = type === 'add' && notification.initial;
    const wake = {
      cause,
      priority: initial ? initialPriority : 0,
      ...(type === 'update' ? { step: stepOf(kind, notification) } : {}),
    };
    for (const key of keysOf(notification)) options.wake({ ...wake, key });
  });
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
