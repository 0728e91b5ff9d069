import { type Clock, type Logger, messageOf, sleep } from 'kedge';
import { DriverError, errorClasses } from '@kedge/driver-sdk';
import type { Volume } from '../../volume/kind.js';
import { backoffOf, type ControllerPolicy } from '../../policy/policy.js';

/** One volume to release at shutdown. */
export interface TeardownStep {
  readonly volume: Volume;
  /** Releases the volume. Resolves to false if the store shows that it was released already. */
  readonly release: (signal: AbortSignal) => Promise<boolean>;
}

/** Dependencies of {@link tearDownVolumes}. */
export interface TeardownPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/**
 * Releases volumes in parallel, each with the whole budget (specification section 8), and logs the
 * summary of its section 6. A failure leaves the volume attached; it is adopted at the next start.
 */
export async function tearDownVolumes(
  steps: readonly TeardownStep[],
  budgetMs: number,
  ports: TeardownPorts,
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
    steps.map((step) => releaseWithin(step, limit.signal, ports)),
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
  const held = results.filter((result) => result.status === 'rejected' || result.value);
  const released = held.filter((result) => result.status === 'fulfilled').length;
  const counts = { total: held.length };
  if (released === held.length)
    logger.info('All volumes torn down', { detached: released, ...counts });
  else logger.warn('Volume teardown incomplete', { released, ...counts });
}

/**
 * Releases a volume. Retries until the budget is spent, because users of the volume may end meanwhile; a final error is
 * not retried.
 * @returns the result of the release
 * @throws Error the last error, or that the budget was spent during the first attempt
 */
async function releaseWithin(
  { release }: TeardownStep,
  signal: AbortSignal,
  { clock, policy }: TeardownPorts,
): Promise<boolean> {
  const { baseMs, maxMs } = backoffOf(policy, 'teardown');
  let last: unknown = new Error('the shutdown budget has ended');
  const spent = new Promise<'spent'>((resolve) => {
    signal.addEventListener('abort', () => resolve('spent'), { once: true });
  });
  for (let waitMs = baseMs; !signal.aborted; waitMs = Math.min(waitMs * 2, maxMs)) {
    const tried = release(signal).then(
      (held) => ({ type: 'released', held }) as const,
      (error: unknown) => ({ type: 'failed', error }) as const,
    );
    const outcome = await Promise.race([tried, spent]);
    if (outcome === 'spent') break;
    if (outcome.type === 'released') return outcome.held;
    last = outcome.error;
    if (!(last instanceof DriverError) || errorClasses[last.kind] === 'final') break;
    await sleep(clock, Math.max(waitMs, last.retryAfterMs ?? 0), signal);
  }
  throw last;
}
