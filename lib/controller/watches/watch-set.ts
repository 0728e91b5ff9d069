import type { CallbackFaults } from '../../base/index.js';
import type { HandlerRegistration, SharedInformer } from '../../informer/index.js';
import type { ApiObject } from '../../object/index.js';
import type { WatchHandle, WatchMap } from './watches.js';
import type { Predicate } from './predicates.js';
import { registerWatch, type Wake } from './watches.js';

/** Dependencies of a {@link WatchSet}. */
export interface WatchSetOptions {
  /** Name of the watcher. */
  readonly name: string;
  readonly faults: CallbackFaults;
  readonly wake: (wake: Wake) => void;
}

/** The active watches of one controller. A removed watch is not awaited. */
export class WatchSet {
  readonly #options: WatchSetOptions;
  readonly #informers = new Map<HandlerRegistration, SharedInformer>();

  constructor(options: WatchSetOptions) {
    this.#options = options;
  }

  /** The watched informers, each once. */
  get informers(): ReadonlySet<SharedInformer> {
    return new Set(this.#informers.values());
  }

  /** A description of the watches that have not received the whole first list yet. */
  get waitingFor(): readonly string[] {
    return [...this.#informers]
      .filter(([registration]) => !registration.hasSynced())
      .map(([, { kind }]) => `the watch of ${kind}`);
  }

  /** Resolves once each present watch received the whole first list or was removed. */
  async waitForSync(): Promise<void> {
    await Promise.all([...this.#informers.keys()].map((watch) => watch.waitForSync()));
  }

  /**
   * Adds a watch.
   * @param map the keys that an object queues; absent: its own key
   */
  add<T extends ApiObject>(
    informer: SharedInformer<T>,
    map: WatchMap<T> | undefined,
    predicate: Predicate<T> | undefined,
  ): WatchHandle {
    const registration = registerWatch({
      informer,
      kind: informer.kind,
      ...(map ? { map } : {}),
      predicate,
      ...this.#options,
    });
    this.#informers.set(registration, informer);
    const remove = (): void => {
      registration.remove();
      this.#informers.delete(registration);
    };
    return { remove, [Symbol.dispose]: remove };
  }

  /** Removes all watches. */
  clear(): void {
    for (const registration of this.#informers.keys()) registration.remove();
    this.#informers.clear();
  }
}
