import type { CallbackFaults, Clock } from '../base/index.js';
import type { ApiObject, Stored } from '../object/index.js';
import {
  HandlerBuffer,
  type HandlerSubscription,
  type Notification,
  type NotificationHandler,
  type Placement,
} from './handler-buffer.js';
import type { HandlerOptions, HandlerRegistration } from './informer-options.js';

/** Dependencies of {@link Handlers}. */
export interface HandlersOptions {
  readonly faults: CallbackFaults;
  readonly clock: Clock;
}

/** The handlers at one time. A handler that is added later gets the content of the cache when it is added. */
export type HandlersNow<T extends ApiObject> = Iterable<HandlerBuffer<T>>;

/** The handlers of one informer. Each has its own buffer, and none waits for another. */
export class Handlers<T extends ApiObject> implements Iterable<HandlerBuffer<T>> {
  readonly #options: HandlersOptions;
  readonly #buffers = new Set<HandlerBuffer<T>>();
  #added = 0;

  constructor(options: HandlersOptions) {
    this.#options = options;
  }

  [Symbol.iterator](): Iterator<HandlerBuffer<T>> {
    return this.#buffers[Symbol.iterator]();
  }

  /** The largest lag of a handler: the number of keys with changes that it has not received yet. 0 without handlers. */
  get lag(): number {
    return Math.max(0, ...[...this.#buffers].map((buffer) => buffer.lag));
  }

  /** Names of handlers that have not received the whole first list yet. */
  get unsynced(): readonly string[] {
    return [...this.#buffers].filter((buffer) => !buffer.hasSynced).map((buffer) => buffer.name);
  }

  /** Resolves when each present handler has synced or was removed. */
  async synced(): Promise<void> {
    await Promise.all([...this.#buffers].map((buffer) => buffer.synced));
  }

  /**
   * Adds a handler that gets `content` first.
   * @param handlerOf creates the handler for its subscription
   * @param listed whether `content` is the first list; false: nothing was listed yet
   */
  add(
    handlerOf: (subscription: HandlerSubscription) => NotificationHandler<T>,
    { name }: HandlerOptions,
    content: Iterable<Stored<T>>,
    listed: boolean,
  ): HandlerRegistration {
    this.#added += 1;
    const buffer = new HandlerBuffer<T>({
      ...this.#options,
      name: name ?? `handler ${this.#added}`,
      handlerOf,
    });
    this.#buffers.add(buffer);
    for (const entry of content) buffer.push(entry.key, { type: 'add', entry, initial: true });
    if (listed) buffer.listed();
    return {
      name: buffer.name,
      hasSynced: () => buffer.hasSynced,
      waitForSync: () => buffer.synced,
      get lag() {
        return buffer.lag;
      },
      remove: () => {
        buffer.remove();
        this.#buffers.delete(buffer);
      },
    };
  }

  /** Closes all handlers: none is called again, and pending waits for the sync reject. */
  close(error: Error): void {
    for (const buffer of this.#buffers) buffer.close(error);
  }
}

/** Notifies handlers of a change; no-op if uid and version are the same. */
export function notifyChange<T extends ApiObject>(
  handlers: HandlersNow<T>,
  change: { readonly before: Stored<T>; readonly entry: Stored<T>; readonly known: boolean },
  placement?: Placement,
): void {
  const { before, entry, known } = change;
  // Do not compare the objects of one entry: a comparison could parse them.
  if (before === entry) return;
  const replaced = before.object.metadata.uid !== entry.object.metadata.uid;
  // Versions of two objects, or before and after a restore, may be equal by coincidence.
  if (!replaced && before.resourceVersion === entry.resourceVersion) return;
  const notification: Notification<T> = replaced
    ? { type: 'replace', before, known, entry }
    : { type: 'update', before, entry };
  notify(handlers, entry.key, notification, placement);
}

/** Pushes a notification to each handler. */
export function notify<T extends ApiObject>(
  handlers: HandlersNow<T>,
  key: string,
  notification: Notification<T>,
  placement?: Placement,
): void {
  for (const buffer of handlers) buffer.push(key, notification, placement);
}
