import { type Clock, type Logger, messageOf } from 'kedge';
import type { Volume } from '../kinds/index.js';

/** One volume to release at shutdown. */
export interface TeardownStep {
  readonly volume: Volume;
  readonly release: (signal: AbortSignal) => Promise<void>;
}

/**
 * Releases volumes in parallel, each with the whole budget (specification section 8), and logs the
 * summary of its section 6. A failure leaves the volume attached; it is adopted at the next start.
 */
export async function tearDownVolumes(
  steps: readonly TeardownStep[],
  budgetMs: number,
  ports: { readonly clock: Clock; readonly logger: Logger },
): Promise<void> {
  const { clock, logger } = ports;
  const total = steps.length;
  if (budgetMs <= 0) {
    if (total > 0)
      logger.warn('Shutdown budget spent before volume teardown; volumes stay attached', {
        total,
      });
    return;
  }
  const limit = new AbortController();
  const timer = clock.setTimer(() => limit.abort(), budgetMs);
  const expired = new Promise<never>((_resolve, reject) => {
    limit.signal.addEventListener('abort', () => reject(new Error('the shutdown budget is spent')));
  });
  expired.catch(() => undefined);
  const results = await Promise.allSettled(
    steps.map(({ release }) => Promise.race([release(limit.signal), expired])),
  );
  timer.cancel();
  for (const [index, result] of results.entries()) {
    const volume = steps[index]?.volume;
    if (result.status === 'rejected' && volume)
      logger.warn('volume stays attached', {
        volume: `${volume.namespace}/${volume.name}`,
        error: messageOf(result.reason),
      });
  }
  const released = results.filter((result) => result.status === 'fulfilled').length;
  if (released === total) logger.info('All volumes torn down', { detached: released, total });
  else logger.warn('Volume teardown incomplete', { released, total });
}
