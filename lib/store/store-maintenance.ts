import type { Clock } from '../base/index.js';
import { writeBackup } from './backup/backup.js';
import type { BackupReport, StoreHealth, VerifyReport } from './contract/object-store.js';
import type { Engine } from './engine/engine.js';
import { storeClosed } from './engine/store-closed.js';
import type { ObjectIndex } from './index/object-index.js';
import type { LogHistory } from './log/log-history.js';
import { verifyLog } from './log/verify.js';
import type { WatchHub } from './watch/watch-hub.js';

/** Options of the maintenance of a store. */
export interface StoreMaintenanceOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly history: LogHistory;
  readonly index: ObjectIndex;
  readonly hub: WatchHub;
  /** Health of the commit pipeline: background work rejects while the engine may be closed. */
  readonly health: () => StoreHealth;
}

/** Background work: compaction, backup, verification. */
export class StoreMaintenance {
  readonly #options: StoreMaintenanceOptions;
  /** Work that must not overlap: compaction, verification, revival. */
  #background: Promise<unknown> = Promise.resolve();

  constructor(options: StoreMaintenanceOptions) {
    this.#options = options;
  }

  compact(signal: AbortSignal): Promise<void> {
    const { history, hub } = this.#options;
    return this.#exclusively(() => history.compact(hub.revision, signal));
  }

  backup(
    { storeId, clusterId }: { readonly storeId: string; readonly clusterId: string },
    sink: (bytes: Buffer) => Promise<void>,
  ): Promise<BackupReport> {
    const { hub, index, clock } = this.#options;
    const { revision } = hub;
    const kinds = index.snapshotAll();
    return writeBackup({ storeId, clusterId, revision, kinds, clock }, sink);
  }

  verify(): Promise<VerifyReport> {
    const { engine, history, hub, index, clock } = this.#options;
    return this.#exclusively(() => {
      const { checkpoint } = history;
      const kinds = index.snapshotAll();
      return verifyLog(engine, { checkpoint, revision: hub.revision, kinds }, clock);
    });
  }

  /** Runs `work` after all queued background work; settles like `work`. */
  queued<R>(work: () => Promise<R>): Promise<R> {
    const result = this.#background.then(work);
    this.#background = result.catch(() => undefined);
    return result;
  }

  /** Resolves when no background work runs. */
  async idle(): Promise<void> {
    await this.#background;
  }

  /** Like {@link queued}, but rejects while the engine may be closed. */
  #exclusively<R>(work: () => Promise<R>): Promise<R> {
    const health = this.#options.health();
    if (health.state === 'closed') return Promise.reject(storeClosed());
    if (health.state === 'poisoned') return Promise.reject(health.error);
    return this.queued(work);
  }
}
