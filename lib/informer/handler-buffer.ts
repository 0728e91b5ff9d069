import { type CallbackFaults, type Clock, TimeSlice } from '../base/index.js';
import type { ApiObject, Stored } from '../object/index.js';

/** Last state of a deleted object. `known: false`: the deletion itself was missed, the state may be older than the last. */
export type Tombstone<T extends ApiObject> =
  | { readonly known: true; readonly object: T }
  | { readonly known: false; readonly object: T };

/**
 * Told of changes, one after the other: the next one waits for a promise that it gives back.
 * A handler that throws, or rejects, is reported, and told of the next change; it stops neither other
 * handlers nor the informer.
 */
export interface EventHandler<T extends ApiObject> {
  onAdd?(object: T, isInInitialList: boolean): void | Promise<void>;
  onUpdate?(before: T, object: T): void | Promise<void>;
  onDelete?(tombstone: Tombstone<T>): void | Promise<void>;
}

/** One change to tell; objects that nobody looks at are never parsed. */
export type Notification<T extends ApiObject> =
  | { readonly type: 'add'; readonly entry: Stored<T>; readonly initial: boolean }
  | { readonly type: 'update'; readonly before: Stored<T>; readonly entry: Stored<T> }
  | {
      readonly type: 'delete';
      readonly entry: Stored<T>;
      readonly known: boolean;
      /** The state that was told last, where it may differ from `entry`: the removing write changes more. */
      readonly told?: Stored<T>;
    }
  | {
      /** The name belongs to an object of another uid now. */
      readonly type: 'replace';
      readonly before: Stored<T>;
      readonly known: boolean;
      readonly entry: Stored<T>;
      /** The state that was told last, where it may differ from `before`. */
      readonly told?: Stored<T>;
    };

/** Only the type of its member is used: it keeps {@link HandlerBuffer} covariant. */
interface NotificationMember<T extends ApiObject> {
  tell(notification: Notification<T>): void | Promise<void>;
}

/** Takes notifications as they are; see {@link Notification}. */
export type NotificationHandler<T extends ApiObject> = NotificationMember<T>['tell'];

/** What {@link objectHandler} asks of the handler's subscription. */
export interface HandlerSubscription {
  readonly removed: boolean;
  /** Reports a part of a notification that failed while its rest goes on. */
  report(error: unknown, key: string): void;
}

/** A handler of objects as one of notifications. */
export function objectHandler<T extends ApiObject>(
  handler: EventHandler<T>,
  subscription: HandlerSubscription,
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
      case 'replace': {
        const { known, before } = notification;
        try {
          await handler.onDelete?.({ known, object: before.object });
        } catch (error) {
          subscription.report(error, entry.key);
        }
        if (!subscription.removed) return handler.onAdd?.(entry.object, false);
      }
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
      if (second.type === 'update') return { ...first, entry };
      return second.type === 'add' ? second : { ...second, told: first.before };
    case 'delete':
      if (second.type === 'delete') return { ...second, ...toldOf(first) };
      return { type: 'replace', before: first.entry, known: first.known, entry, ...toldOf(first) };
    case 'replace':
      if (second.type === 'delete')
        return { type: 'delete', entry: first.before, known: first.known, ...toldOf(first) };
      return { ...first, entry };
  }
}

function toldOf<T extends ApiObject>({
  told,
}: {
  readonly told?: Stored<T>;
}): { readonly told?: Stored<T> } {
  return told ? { told } : {};
}

/** Ports of a {@link HandlerBuffer}. */
export interface HandlerBufferOptions<T extends ApiObject> {
  /** For reports, and for those who wait for it. */
  readonly name: string;
  readonly tellOf: (subscription: HandlerSubscription) => NotificationHandler<T>;
  readonly faults: CallbackFaults;
  readonly clock: Clock;
}

/** Where a key with a notification pending is told: at its place, or behind everything pending. */
export type Placement = 'inPlace' | 'last';

/**
 * What one handler has still to be told, at most one notification a key: bounded by the number of
 * objects however slow the handler is, and no handler waits for another. A key keeps its place when
 * it changes again, so a key that is written all the time is told too.
 */
export class HandlerBuffer<T extends ApiObject> implements HandlerSubscription {
  readonly #options: HandlerBufferOptions<T>;
  readonly #tell: NotificationHandler<T>;
  readonly #pending = new Map<string, Notification<T>>();
  readonly #synced: Promise<void>;
  #resolveSynced: () => void = () => undefined;
  #rejectSynced: (error: Error) => void = () => undefined;
  #running = false;
  #removed = false;
  #hasSynced = false;
  /** Everything of the initial list was pushed, and so many of it were not told yet. */
  #listed = false;
  #initialLeft = 0;
  #callSince: number | undefined;

  constructor(options: HandlerBufferOptions<T>) {
    this.#options = options;
    this.#tell = options.tellOf(this);
    this.#synced = new Promise((resolve, reject) => {
      this.#resolveSynced = resolve;
      this.#rejectSynced = reject;
    });
    // Nobody need wait for it.
    this.#synced.catch(() => undefined);
  }

  get name(): string {
    return this.#options.name;
  }

  get removed(): boolean {
    return this.#removed;
  }

  /** Notifications not yet told. */
  get lag(): number {
    return this.#pending.size;
  }

  /** Milliseconds that the call under way has lasted; 0 when there is none. */
  get callMs(): number {
    const since = this.#callSince;
    return since === undefined ? 0 : this.#options.clock.monotonic() - since;
  }

  /** True once it was told of every object of the initial list, however much changed meanwhile. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves when {@link hasSynced}, or when it is removed; rejects when it is closed before. */
  get synced(): Promise<void> {
    return this.#synced;
  }

  push(key: string, notification: Notification<T>, placement: Placement = 'inPlace'): void {
    if (this.#removed) return;
    const before = this.#pending.get(key);
    const next = before ? coalesce(before, notification) : notification;
    if (before && (!next || placement === 'last')) this.#pending.delete(key);
    if (next) this.#pending.set(key, next);
    this.#initialLeft += Number(isInitial(next)) - Number(isInitial(before));
    this.#judgeSync();
    if (!this.#running) void this.#drain();
  }

  /** The initial list is pushed whole. */
  listed(): void {
    this.#listed = true;
    this.#judgeSync();
  }

  /** The handler is not called again. */
  remove(): void {
    this.#removed = true;
    this.#pending.clear();
    this.#resolveSynced();
  }

  /** As {@link remove}; who waits for the sync is rejected. */
  close(error: Error): void {
    this.#rejectSynced(error);
    this.remove();
  }

  report(error: unknown, key: string): void {
    this.#options.faults.report('handler', error, { handler: this.name, key });
  }

  #judgeSync(): void {
    if (!this.#listed || this.#initialLeft > 0 || this.#removed || this.#hasSynced) return;
    this.#hasSynced = true;
    this.#resolveSynced();
  }

  async #drain(): Promise<void> {
    this.#running = true;
    await Promise.resolve();
    const { clock } = this.#options;
    const slice = new TimeSlice(clock);
    // One iterator for all: it sees what is added meanwhile, and need not skip what was taken.
    for (const [key, notification] of this.#pending) {
      this.#pending.delete(key);
      try {
        const telling = this.#tell(notification);
        if (telling) {
          this.#callSince = clock.monotonic();
          await telling;
        }
      } catch (error) {
        this.report(error, key);
      }
      this.#callSince = undefined;
      if (isInitial(notification)) {
        this.#initialLeft -= 1;
        this.#judgeSync();
      }
      if (slice.due()) await slice.pause();
    }
    this.#running = false;
  }
}

function isInitial<T extends ApiObject>(notification: Notification<T> | undefined): boolean {
  return notification?.type === 'add' && notification.initial;
}
