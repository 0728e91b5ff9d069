import { type CallbackFaults, type Clock, TimeSlice } from '../base/index.js';
import type { ApiObject, Stored } from '../object/index.js';

/**
 * The last state of a deleted object. `known: false`: the deletion itself was missed, so `object` may be an older
 * state.
 */
export type Tombstone<T extends ApiObject> =
  | { readonly known: true; readonly object: T }
  | { readonly known: false; readonly object: T };

/**
 * Receives changes one by one: the next one waits for the returned promise. A handler that throws or rejects is
 * reported and gets the next change; it stops neither other handlers nor the informer.
 */
export interface EventHandler<T extends ApiObject> {
  onAdd?(object: T, isInInitialList: boolean): void | Promise<void>;
  onUpdate?(before: T, object: T): void | Promise<void>;
  onDelete?(tombstone: Tombstone<T>): void | Promise<void>;
}

/** One change to deliver; objects are parsed only when a handler reads them. */
export type Notification<T extends ApiObject> =
  | { readonly type: 'add'; readonly entry: Stored<T>; readonly initial: boolean }
  | { readonly type: 'update'; readonly before: Stored<T>; readonly entry: Stored<T> }
  | {
      readonly type: 'delete';
      readonly entry: Stored<T>;
      readonly known: boolean;
      /** The state that was delivered last, if it may differ from `entry`: the deleting write may change more. */
      readonly delivered?: Stored<T>;
    }
  | {
      /** An object of another uid has the name now. */
      readonly type: 'replace';
      readonly before: Stored<T>;
      readonly known: boolean;
      readonly entry: Stored<T>;
      /** The state that was delivered last, if it may differ from `before`. */
      readonly delivered?: Stored<T>;
    };

/** Only the type of its member is used: it keeps {@link HandlerBuffer} covariant. */
interface NotificationMember<T extends ApiObject> {
  deliver(notification: Notification<T>): void | Promise<void>;
}

/** Receives notifications without parsed objects; see {@link Notification}. */
export type NotificationHandler<T extends ApiObject> = NotificationMember<T>['deliver'];

/** The functions of the handler's subscription that {@link objectHandler} uses. */
export interface HandlerSubscription {
  readonly removed: boolean;
  /** Reports a failed part of a notification whose other parts continue. */
  report(error: unknown, key: string): void;
}

/** Adapts a handler of objects to notifications. */
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

/** Coalesces two consecutive notifications of one key; undefined if they cancel each other. */
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
      return second.type === 'add' ? second : { ...second, delivered: first.before };
    case 'delete':
      if (second.type === 'delete') return { ...second, ...deliveredOf(first) };
      return {
        type: 'replace',
        before: first.entry,
        known: first.known,
        entry,
        ...deliveredOf(first),
      };
    case 'replace':
      if (second.type === 'delete')
        return { type: 'delete', entry: first.before, known: first.known, ...deliveredOf(first) };
      return { ...first, entry };
  }
}

function deliveredOf<T extends ApiObject>({
  delivered,
}: {
  readonly delivered?: Stored<T>;
}): { readonly delivered?: Stored<T> } {
  return delivered ? { delivered } : {};
}

/** Dependencies of a {@link HandlerBuffer}. */
export interface HandlerBufferOptions<T extends ApiObject> {
  /** Name for reports and for messages of waiting callers. */
  readonly name: string;
  readonly handlerOf: (subscription: HandlerSubscription) => NotificationHandler<T>;
  readonly faults: CallbackFaults;
  readonly clock: Clock;
}

/** The place of a notification for a key that has a pending one: the same place, or the tail. */
export type Placement = 'inPlace' | 'last';

/**
 * The pending notifications of one handler, at most one per key. No handler waits for another. A key that changes again
 * keeps its place, so that frequently written keys are not starved.
 */
export class HandlerBuffer<T extends ApiObject> implements HandlerSubscription {
  readonly #options: HandlerBufferOptions<T>;
  readonly #handler: NotificationHandler<T>;
  readonly #pending = new Map<string, Notification<T>>();
  readonly #synced: Promise<void>;
  #resolveSynced: () => void = () => undefined;
  #rejectSynced: (error: Error) => void = () => undefined;
  #running = false;
  #removed = false;
  #hasSynced = false;
  /**
   * True once the whole initial list was pushed. `#initialLeft` counts the objects of it that were not delivered yet.
   */
  #listed = false;
  #initialLeft = 0;
  #callSince: number | undefined;

  constructor(options: HandlerBufferOptions<T>) {
    this.#options = options;
    this.#handler = options.handlerOf(this);
    this.#synced = new Promise((resolve, reject) => {
      this.#resolveSynced = resolve;
      this.#rejectSynced = reject;
    });
    // A rejection that no caller awaits must not be reported as unhandled.
    this.#synced.catch(() => undefined);
  }

  get name(): string {
    return this.#options.name;
  }

  get removed(): boolean {
    return this.#removed;
  }

  /** Number of pending notifications. */
  get lag(): number {
    return this.#pending.size;
  }

  /** Duration of the call in progress in milliseconds; 0 without one. */
  get callMs(): number {
    const since = this.#callSince;
    return since === undefined ? 0 : this.#options.clock.monotonic() - since;
  }

  /** True once every object of the initial list was delivered, regardless of later changes. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves on {@link hasSynced}, or when the handler is removed; rejects if it is closed before. */
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
    this.#checkSync();
    if (!this.#running) void this.#drain();
  }

  /** Marks the initial list as complete. */
  listed(): void {
    this.#listed = true;
    this.#checkSync();
  }

  /** Removes the handler: it is not called again. */
  remove(): void {
    this.#removed = true;
    this.#pending.clear();
    this.#resolveSynced();
  }

  /** Like {@link remove}, but pending waits for the sync reject with `error`. */
  close(error: Error): void {
    this.#rejectSynced(error);
    this.remove();
  }

  report(error: unknown, key: string): void {
    this.#options.faults.report('handler', error, { handler: this.name, key });
  }

  #checkSync(): void {
    if (!this.#listed || this.#initialLeft > 0 || this.#removed || this.#hasSynced) return;
    this.#hasSynced = true;
    this.#resolveSynced();
  }

  async #drain(): Promise<void> {
    this.#running = true;
    await Promise.resolve();
    const { clock } = this.#options;
    const slice = new TimeSlice(clock);
    // One iterator for all: it also yields entries that are added meanwhile, and need not skip removed ones.
    for (const [key, notification] of this.#pending) {
      this.#pending.delete(key);
      try {
        const pending = this.#handler(notification);
        if (pending) {
          this.#callSince = clock.monotonic();
          await pending;
        }
      } catch (error) {
        this.report(error, key);
      }
      this.#callSince = undefined;
      if (isInitial(notification)) {
        this.#initialLeft -= 1;
        this.#checkSync();
      }
      if (slice.due()) await slice.pause();
    }
    this.#running = false;
  }
}

function isInitial<T extends ApiObject>(notification: Notification<T> | undefined): boolean {
  return notification?.type === 'add' && notification.initial;
}
