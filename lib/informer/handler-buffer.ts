import type { Logger } from '../base/index.js';
import type { ApiObject } from '../object/index.js';

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

/** One change to tell. */
export type Notification<T extends ApiObject> =
  | { readonly type: 'add'; readonly object: T; readonly initial: boolean }
  | { readonly type: 'update'; readonly before: T; readonly object: T }
  | { readonly type: 'delete'; readonly tombstone: Tombstone<T> }
  | {
      readonly type: 'replace';
      /** The object of another uid that the name belonged to before. */
      readonly tombstone: Tombstone<T>;
      readonly object: T;
    };

/** Two notifications of one key in a row, told as one; undefined: nothing is left to tell. */
function coalesce<T extends ApiObject>(
  first: Notification<T>,
  second: Notification<T>,
): Notification<T> | undefined {
  if (second.type === 'replace') {
    if (first.type === 'add') return { type: 'add', object: second.object, initial: first.initial };
    if (first.type === 'update') return second;
    return { type: 'replace', tombstone: tombstoneOf(first), object: second.object };
  }
  if (second.type === 'delete') {
    if (first.type === 'add') return undefined;
    if (first.type === 'update') return second;
    return { type: 'delete', tombstone: tombstoneOf(first) };
  }
  const { object } = second;
  switch (first.type) {
    case 'add':
      return { ...first, object };
    case 'update':
      return { ...first, object };
    case 'replace':
      return { ...first, object };
    case 'delete':
      return { type: 'replace', tombstone: first.tombstone, object };
  }
}

function tombstoneOf<T extends ApiObject>(
  notification: Notification<T> & { type: 'delete' | 'replace' },
): Tombstone<T> {
  return notification.tombstone;
}

/**
 * What one handler has still to be told, at most one notification a key: bounded by the number of
 * objects however slow the handler is, and no handler waits for another.
 */
export class HandlerBuffer<T extends ApiObject> {
  readonly #handler: EventHandler<T>;
  readonly #logger: Logger;
  readonly #pending = new Map<string, Notification<T>>();
  #running: Promise<void> | undefined;
  #removed = false;

  constructor(handler: EventHandler<T>, logger: Logger) {
    this.#handler = handler;
    this.#logger = logger;
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
    for (;;) {
      const next = this.#pending.entries().next();
      if (next.done) break;
      const [key, notification] = next.value;
      this.#pending.delete(key);
      try {
        await this.#tell(notification);
      } catch (error) {
        this.#logger.error('informer handler threw', { key, error });
      }
    }
    this.#running = undefined;
  }

  async #tell(notification: Notification<T>): Promise<void> {
    const handler = this.#handler;
    switch (notification.type) {
      case 'add':
        return handler.onAdd?.(notification.object, notification.initial);
      case 'update':
        return handler.onUpdate?.(notification.before, notification.object);
      case 'delete':
        return handler.onDelete?.(notification.tombstone);
      case 'replace':
        await handler.onDelete?.(notification.tombstone);
        return handler.onAdd?.(notification.object, false);
    }
  }
}
