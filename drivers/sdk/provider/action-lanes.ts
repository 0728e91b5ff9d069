import { DriverError } from '../contract/errors.js';
import type { ProviderClock } from '../http/provider-clock.js';

/** Time after {@link ActionLanes.take} at which a lane is free even if its holder has not freed it, milliseconds. */
const expiryMs = 60_000;
const lanesMax = 10_000;

/**
 * Ensures that a machine executes one action at a time. A holder keeps the lane of a machine from the start to the end
 * of its action, over several driver calls, but at most for a minute. Lanes are in memory: after a restart, only the
 * provider refuses a second action.
 */
export class ActionLanes {
  readonly #clock: ProviderClock;
  readonly #lanes = new Map<string, { readonly holder: string; readonly until: number }>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /**
   * Takes a lane, or extends its time for the same holder.
   * @throws DriverError Throttled while another holder has it
   */
  take(lane: string, holder: string): void {
    const now = this.#clock.monotonic();
    const found = this.#lanes.get(lane);
    if (found && found.holder !== holder && found.until > now)
      throw new DriverError('Throttled', `another action of ${lane} is running`, {
        retryAfterMs: 1_000,
      });
    if (this.#lanes.size >= lanesMax && !found)
      for (const [name, { until }] of this.#lanes) if (until <= now) this.#lanes.delete(name);
    this.#lanes.set(lane, { holder, until: now + expiryMs });
  }

  /** Frees every lane of a holder. */
  free(holder: string): void {
    for (const [name, lane] of this.#lanes) if (lane.holder === holder) this.#lanes.delete(name);
  }
}
