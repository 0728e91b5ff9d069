import { type Clock, type Logger, messageOf, sleep } from '../base/index.js';
import { isEmbedded, type ObjectStore } from '../store/index.js';

/** Options of the background maintenance of a manager, which does not keep the process running. */
export interface HousekeepingOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pause between compactions. */
  readonly compactionIntervalMs: number;
  /** Updates gauges; absent without metrics. */
  readonly refreshMetrics: (() => void) | undefined;
}

const metricsRefreshMs = 1_000;

/** Compacts the store and refreshes metrics until `signal` aborts. */
export function startHousekeeping(options: HousekeepingOptions, signal: AbortSignal): void {
  void compact(options, signal);
  if (options.refreshMetrics) void refresh(options.refreshMetrics, options, signal);
}

async function compact(options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { store, clock, logger, compactionIntervalMs } = options;
  // A remote store is compacted by its own process.
  if (!isEmbedded(store)) return;
  for (;;) {
    await sleep(clock, compactionIntervalMs, signal, { background: true });
    if (signal.aborted) return;
    try {
      await store.compact();
    } catch (error) {
      logger.warn('compaction failed, will retry', { error: messageOf(error) });
    }
  }
}

async function refresh(
  refreshMetrics: () => void,
  { clock, logger }: HousekeepingOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      refreshMetrics();
    } catch (error) {
      logger.warn('metrics could not be refreshed', { error: messageOf(error) });
    }
    await sleep(clock, metricsRefreshMs, signal, { background: true });
  }
}
