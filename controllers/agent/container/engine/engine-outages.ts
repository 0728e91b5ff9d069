import type { Clock } from 'kedge';

/** Time between the first end of a container by an engine that stops, and the loss of the connection to it. */
const slackMs = 2_000;
/** More outages are not remembered: an end is looked at soon after the outage. */
const knownMax = 32;

/** A time without the engine, in milliseconds since the epoch. */
export interface Outage {
  readonly from: number;
  /** Undefined: the engine is still away. */
  readonly to: number | undefined;
}

/**
 * When the engine was away. An engine without live-restore ends all containers when it is restarted: at its stop, or,
 * after it was killed, at its next start.
 */
export class EngineOutages {
  readonly #clock: Clock;
  #outages: readonly Outage[] = [];
  #keepsContainers = false;
  #firstConnectedAt: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The connection was lost, or could not be made. */
  lost(): void {
    if (this.#outages.at(-1)?.to === undefined && this.#outages.length > 0) return;
    this.#outages = [...this.#outages, { from: this.#clock.now(), to: undefined }].slice(-knownMax);
  }

  /** @param keepsContainers whether containers survive a restart of the engine (live-restore) */
  connected(keepsContainers: boolean): void {
    this.#keepsContainers = keepsContainers;
    const now = this.#clock.now();
    this.#firstConnectedAt ??= now;
    this.#outages = this.#outages.map(({ from, to = now }) => ({ from, to }));
  }

  /** Whether a container ended at this time before this process was first connected. */
  isEarlier(exitedAt: number): boolean {
    return this.#firstConnectedAt === undefined || exitedAt < this.#firstConnectedAt;
  }

  /** The outage at a time, as far as this process has seen it. */
  at(ms: number): Outage | undefined {
    return this.#outages.find(({ from, to }) => ms >= from && (to === undefined || ms <= to));
  }

  /** Whether a container that ended at this time was ended by the engine, as far as this process has seen it. */
  endedByEngine(exitedAt: number): boolean {
    if (this.#keepsContainers) return false;
    return this.#outages.some(
      ({ from, to }) => exitedAt >= from - slackMs && (to === undefined || exitedAt <= to),
    );
  }
}
