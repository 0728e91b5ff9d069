import {
  type Clock,
  findCondition,
  type Logger,
  messageOf,
  modifyStatus,
  type ObjectStore,
  type Runnable,
  sleep,
  timestamp,
} from 'kedge';
import { type Volume, volumes } from '../volume/kind.js';
import type { ControllerPolicy } from '../policy/policy.js';
import { type NewCondition, setCondition } from '../reasons/index.js';
import type { StorageRootManager } from './manager.js';
import type { RootState } from './refusal.js';
import { isPlacedOn } from './placed-data.js';

/** Condition of a volume whose storage root is refused. */
export const rootCondition = 'StorageRootReady';

/** Dependencies of {@link StorageRootWatch}. */
export interface StorageRootWatchOptions {
  readonly storageRoot: StorageRootManager;
  readonly store: ObjectStore;
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/**
 * Probes a storage root periodically, and sets the condition `StorageRootReady` of its volumes to False while it is
 * refused. When the condition changes, failed driver calls are retried at once.
 */
export class StorageRootWatch implements Runnable {
  readonly name = 'storage root';
  readonly #options: StorageRootWatchOptions;
  readonly #stop = new AbortController();
  /** True once the condition of every volume reports a ready root. */
  #settled = false;
  #probing: Promise<void> | undefined;

  constructor(options: StorageRootWatchOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#probe();
    this.#probing = this.#probePeriodically();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#probing;
  }

  async #probePeriodically(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, policy } = this.#options;
    for (;;) {
      await sleep(clock, policy.storageRootProbeMs, signal, { background: true });
      if (signal.aborted) return;
      await this.#probe();
    }
  }

  async #probe(): Promise<void> {
    try {
      const state = await this.#options.storageRoot.probe();
      if (state.type === 'ready' && this.#settled) return;
      await this.#report(state);
      this.#settled = state.type === 'ready';
    } catch (error) {
      const words = { error: messageOf(error) };
      this.#options.logger.warn(
        'the state of the storage root could not be written, will retry',
        words,
      );
    }
  }

  async #report(state: RootState): Promise<void> {
    const { store, node, storageRoot } = this.#options;
    const root = { node, driver: storageRoot.driver };
    for (const volume of (await store.list(volumes)).items) {
      if (!isPlacedOn(volume, root) || knows(volume, state)) continue;
      const { namespace, name } = volume;
      const now = timestamp(this.#options.clock);
      await modifyStatus(store, volumes, { namespace, name }, (current) =>
        current.metadata.uid !== volume.metadata.uid || knows(current, state)
          ? undefined
          : { conditions: setCondition(current.conditions, conditionOf(state), now) },
      );
    }
  }
}

function conditionOf(state: RootState): NewCondition {
  const type = rootCondition;
  if (state.type === 'ready')
    return { type, status: 'True', reason: 'StorageRootReady', message: '' };
  const { reason, message } = state;
  return { type, status: 'False', reason, message };
}

/** Whether a volume's condition is up to date; a volume without problems has none. */
function knows(volume: Volume, state: RootState): boolean {
  const report = findCondition(volume.conditions, rootCondition);
  if (state.type === 'ready') return report?.status !== 'False';
  return report?.status === 'False' && report.message === state.message;
}
