import { type Clock, type Logger, messageOf, sleep } from 'kedge';
import { DriverError, errorClasses } from '@kedge/driver-sdk';
import type { Volume } from '../kinds/index.js';

/** Wait before a failed release is tried again, at first and at most. */
const retryMinMs = 100;
const retryMaxMs = 2_000;

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
  const results = await Promise.allSettled(
    steps.map((step) => releaseWithin(step, limit.signal, clock)),
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

/**
 * Tries until it is released or the budget is spent: what uses a volume may end meanwhile.
 * @throws Error the last one, or that the budget was spent during the first try
 */
async function releaseWithin(
  { release }: TeardownStep,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  let last: unknown = new Error('the shutdown budget is spent');
  const spent = new Promise<'spent'>((resolve) => {
    signal.addEventListener('abort', () => resolve('spent'), { once: true });
  });
  for (let waitMs = retryMinMs; !signal.aborted; waitMs = Math.min(waitMs * 2, retryMaxMs)) {
    const tried = release(signal).then(
      () => ({ type: 'released' }) as const,
      (error: unknown) => ({ type: 'failed', error }) as const,
    );
    const outcome = await Promise.race([tried, spent]);
    if (outcome === 'spent') break;
    if (outcome.type === 'released') return;
    last = outcome.error;
    if (!(last instanceof DriverError) || errorClasses[last.kind] === 'final') break;
    await sleep(clock, Math.max(waitMs, last.retryAfterMs ?? 0), signal);
  }
  throw last;
}
