import { type Clock, type Logger, TimeSlice } from '../base/index.js';
import type { ApiObject, Stored } from '../object/index.js';

/** Last state of a deleted object. `known: false`: the deletion itself was missed, the state may be older than the last. */
export type Tombstone<T extends ApiObject> =
  | { readonly known: true; readonly object: T }
  | { readonly known: false; readonly object: T };

/** Told of changes. A handler that throws is logged; it does not stop the others or the informer. */
export interface EventHandler<T extends ApiObject> {
  onAdd?(object: T, isInInitialList: boolean): void | Promise<void>;
  onUpdate?(before: T, object: T): void | Promise<void>;
  onDelete?(tombstone: Tombstone<T>): void | Promise<void>;
}

/** One change to tell; objects that nobody looks at are never parsed. */
export type Notification<T extends ApiObject> =
  | { readonly type: 'add'; readonly entry: Stored<T>; readonly initial: boolean }
  | { readonly type: 'update'; readonly before: Stored<T>; readonly entry: Stored<T> }
  | { readonly type: 'delete'; readonly entry: Stored<T>; readonly known: boolean }
  | {
      /** The name belongs to an object of another uid now. */
      readonly type: 'replace';
      readonly before: Stored<T>;
      readonly known: boolean;
      readonly entry: Stored<T>;
    };

/** Only the type of its member is used: it keeps {@link HandlerBuffer} covariant. */
interface NotificationMember<T extends ApiObject> {
  tell(notification: Notification<T>): void | Promise<void>;
}

/** Takes notifications as they are; see {@link Notification}. */
export type NotificationHandler<T extends ApiObject> = NotificationMember<T>['tell'];

/** A handler of objects as one of notifications. */
export function objectHandler<T extends ApiObject>(
  handler: EventHandler<T>,
): NotificationHandler<T> {
  return async (notification) => {
    const { entry } = notification;
    switch (notification.type) {
      case 'add':
        return handler.onAdd?.(entry.object, notification.initial);
      case 'update':
        return handler.onUpdate?.(notification.before.object, entry.object);
      case 'delete':
        return handler.onDelete?.({ known: notification.known, object: entry.object });
      case 'replace':
        await handler.onDelete?.({ known: notification.known, object: notification.before.object });
        return handler.onAdd?.(entry.object, false);
    }
  };
}

/** Two notifications of one key in a row, told as one; undefined: nothing is left to tell. */
export function coalesce<T extends ApiObject>(
  first: Notification<T>,
  second: Notification<T>,
): Notification<T> | undefined {
  const { entry } = second;
  switch (first.type) {
    case 'add':
      return second.type === 'delete' ? undefined : { ...first, entry };
    case 'update':
      return second.type === 'update' ? { ...first, entry } : second;
    case 'delete':
      if (second.type === 'delete') return second;
      return { type: 'replace', before: first.entry, known: first.known, entry };
    case 'replace':
      if (second.type === 'delete')
        return { type: 'delete', entry: first.before, known: first.known };
      return { ...first, entry };
  }
}

/**
 * What one handler has still to be told, at most one notification a key: bounded by the number of
 * objects however slow the handler is, and no handler waits for another.
 */
export class HandlerBuffer<T extends ApiObject> {
  readonly #tell: NotificationHandler<T>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #pending = new Map<string, Notification<T>>();
  #running: Promise<void> | undefined;
  #removed = false;

  constructor(tell: NotificationHandler<T>, logger: Logger, clock: Clock) {
    this.#tell = tell;
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Notifications not yet told. */
  get lag(): number {
    return this.#pending.size;
  }

  push(key: string, notification: Notification<T>): void {
    if (this.#removed) return;
    const before = this.#pending.get(key);
    if (before) {
      // Told as the newest change, so behind what came before it.
      this.#pending.delete(key);
      const merged = coalesce(before, notification);
      if (merged) this.#pending.set(key, merged);
    } else {
      this.#pending.set(key, notification);
    }
    this.#running ??= this.#drain();
  }

  /** Resolves when everything pushed so far has been told. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  remove(): void {
    this.#removed = true;
    this.#pending.clear();
  }

  async #drain(): Promise<void> {
    await Promise.resolve();
    const slice = new TimeSlice(this.#clock);
    // One iterator for all: it sees what is added meanwhile, and need not skip what was taken.
    for (const [key, notification] of this.#pending) {
      this.#pending.delete(key);
      try {
        const telling = this.#tell(notification);
        if (telling) await telling;
      } catch (error) {
        this.#logger.error('informer handler threw', { key, error });
      }
      if (slice.due()) await slice.pause();
    }
    this.#running = undefined;
  }
}
