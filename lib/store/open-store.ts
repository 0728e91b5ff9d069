import { silentLogger, systemRandom } from '../base/index.js';
import { LogStore } from './log-store.js';
import { restoreIndex } from './log/restore.js';
import { requireStoreOptions, type StoreOptions } from './contract/store-options.js';
import type { EmbeddedStore } from './contract/object-store.js';

/**
 * Opens a store and reads its log.
 * @throws TypeError that names an invalid option
 * @throws StatusError FailedPrecondition if another process holds the directory, DataLoss if the log is damaged or
 * has a hole: nothing is repaired silently; other errors of the engine, such as a full disk
 */
export async function openStore(options: StoreOptions): Promise<EmbeddedStore> {
  requireStoreOptions(options);
  const { engine } = options;
  const random = options.random ?? systemRandom;
  const state = await engine.open(() => random.uuid());
  try {
    const restored = await restoreIndex(engine, state);
    await engine.confirm?.(restored.revision);
    if (state.migration) {
      const { from, to, copy, rollback } = state.migration;
      const logger = options.logger ?? silentLogger;
      logger.warn('the database was migrated', { from, to, copy, rollback });
    }
    return new LogStore(options, state, restored);
  } catch (error) {
    // Report the first error.
    await engine.close().catch(() => undefined);
    throw error;
  }
}
