import { DriverError } from '../errors/errors.js';
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
  /** The lane that a holder was refused last. */
  readonly #refused = new Map<string, string>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /**
   * Takes the lane of a machine, or extends its time for the same holder.
   * @throws DriverError Throttled while another holder has it
   */
  take(lane: string, holder: string): void {
    const now = this.#clock.monotonic();
    const found = this.#lanes.get(lane);
    if (this.#isTaken(lane, holder)) throw this.#refusal(lane, holder);
    this.#refused.delete(holder);
    if (this.#lanes.size >= lanesMax && !found)
      for (const [name, { until }] of this.#lanes) if (until <= now) this.#lanes.delete(name);
    this.#lanes.set(lane, { holder, until: now + expiryMs });
  }

  /**
   * Refuses a lane again that was refused to the holder and is still taken, so that a repeated call makes no request
   * only to learn that its action can't start yet.
   * @throws DriverError Throttled as {@link take}
   */
  requireTurn(lane: string, holder: string): void {
    if (this.#refused.get(holder) === lane && this.#isTaken(lane, holder))
      throw this.#refusal(lane, holder);
  }

  #isTaken(lane: string, holder: string): boolean {
    const found = this.#lanes.get(lane);
    return found !== undefined && found.holder !== holder && found.until > this.#clock.monotonic();
  }

  #refusal(lane: string, holder: string): DriverError {
    if (this.#refused.size >= lanesMax) this.#refused.clear();
    this.#refused.set(holder, lane);
    const message = `another action of ${lane} is running`;
    return new DriverError('Throttled', message, { retryAfterMs: 1_000 });
  }

  /** Frees every lane of a holder. */
  free(holder: string): void {
    for (const [name, lane] of this.#lanes) if (lane.holder === holder) this.#lanes.delete(name);
  }
}
