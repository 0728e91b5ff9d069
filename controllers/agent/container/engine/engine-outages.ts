import type { Clock } from 'kedge';

/** Maximum time between the first container end caused by a stopping engine, and the loss of the connection. */
const slackMs = 2_000;
/** Maximum number of recorded outages: container ends are observed soon after the outage. */
const knownMax = 32;

/** A period without the engine, in milliseconds since the epoch. */
export interface Outage {
  readonly from: number;
  /** Undefined while the engine is unavailable. */
  readonly to: number | undefined;
}

/**
 * Outages of the engine. An engine without live-restore stops all containers when it is restarted: at its stop or, if
 * it was killed, at its next start.
 */
export class EngineOutages {
  readonly #clock: Clock;
  #outages: readonly Outage[] = [];
  #keepsContainers = false;
  #firstConnectedAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that the connection was lost or could not be established. */
  lost(): void {
    if (this.#outages.at(-1)?.to === undefined && this.#outages.length > 0) return;
    this.#outages = [...this.#outages, { from: this.#clock.now(), to: undefined }].slice(-knownMax);
  }

  /**
   * Records a connection.
   * @param keepsContainers whether containers survive a restart of the engine (live-restore)
   */
  connected(keepsContainers: boolean): void {
    this.#keepsContainers = keepsContainers;
    const now = this.#clock.now();
    this.#firstConnectedAt ??= now;
    this.#outages = this.#outages.map(({ from, to = now }) => ({ from, to }));
  }

  /** Whether a container ended before the first connection of this process; true as long as there was none. */
  isEarlier(exitedAt: number): boolean {
    return this.#firstConnectedAt === undefined || exitedAt < this.#firstConnectedAt;
  }

  /** The outage that this process observed at a time, milliseconds since the epoch; undefined if it observed none. */
  at(ms: number): Outage | undefined {
    return this.#outages.find(({ from, to }) => ms >= from && (to === undefined || ms <= to));
  }

  /** Whether a container ended because the engine stopped, judged by the outages that this process observed. */
  endedByEngine(exitedAt: number): boolean {
    if (this.#keepsContainers) return false;
    return this.#outages.some(
      ({ from, to }) => exitedAt >= from - slackMs && (to === undefined || exitedAt <= to),
    );
  }
}
