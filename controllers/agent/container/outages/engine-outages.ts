import type { Clock } from 'kedge';
import type { Outage, OutageRecord } from './outage-record.js';

/** Maximum time between the first container end caused by a stopping engine, and the loss of the connection. */
const slackMs = 2_000;
/** Maximum duration of the graceful stop of an engine: it waits 15 s for containers. */
const engineStopMs = 20_000;
/** Maximum number of recorded outages: container ends are observed soon after the outage. */
const knownMax = 32;
/** Exit codes of SIGKILL and SIGTERM, with which an engine stops containers. */
const codesOfStops = [137, 143];

/** An ended container, with times in milliseconds since the epoch. */
export interface ContainerEnd {
  readonly startedAt: number;
  readonly exitedAt: number;
  readonly exitCode: number | undefined;
}

/** Whether a container has the exit code of a container that an engine stopped. */
export function hasCodeOfStop({ exitCode }: ContainerEnd): boolean {
  return exitCode !== undefined && codesOfStops.includes(exitCode);
}

/**
 * Outages of the engine. An engine without live-restore stops all containers when it is restarted: at its stop or, if
 * it was killed, at its next start. An engine with live-restore that is stopped while it starts its first containers
 * stops them too.
 */
export class EngineOutages {
  readonly #clock: Clock;
  readonly #record: OutageRecord | undefined;
  #outages: readonly Outage[] = [];
  /** Outages that ended before the first connection of this process. */
  #earlier: readonly Outage[] = [];
  #keepsContainers = false;
  #firstConnectedAt: number | undefined;
  /** The last time at which this process knew that the engine was available; undefined before its first connection. */
  #seenAt: number | undefined;

  /** @param record of outages for later processes; undefined: none is kept */
  constructor(clock: Clock, record?: OutageRecord) {
    this.#clock = clock;
    this.#record = record;
  }

  /**
   * Reads the outages that earlier processes recorded. An outage that had not ended lasted until the start of the
   * engine. An engine that started after the last process had seen it was unavailable at some time since then.
   */
  async recall(engineStartedAt: () => Promise<number | undefined>): Promise<void> {
    const before = await this.#record?.read();
    if (!before) return;
    const { seenAt, outages } = before;
    const startedAt = await engineStartedAt();
    const ended = outages.filter(({ to }) => to !== undefined);
    const open = outages.find(({ to }) => to === undefined);
    const { from, observed } = open ?? { from: seenAt, observed: false };
    // Without a known start, an observed outage lasted until now at most. A lost connection alone is no restart.
    const to = startedAt ?? (open ? this.#clock.now() : undefined);
    const last = to !== undefined && to > from ? [{ from, to, observed }] : [];
    this.#earlier = [...ended, ...last].slice(-knownMax);
  }

  /** Records that the connection was lost or could not be established. */
  lost(): void {
    if (!this.#isConnected && this.#outages.length > 0) return;
    const outage = { from: this.#clock.now(), to: undefined, observed: true };
    this.#outages = [...this.#outages, outage].slice(-knownMax);
    // Also the next process must know that the engine stopped: the machine may be about to.
    if (this.#seenAt !== undefined) this.#save(this.#seenAt);
  }

  /**
   * Records a connection.
   * @param keepsContainers whether containers survive a restart of the engine (live-restore)
   */
  connected(keepsContainers: boolean): void {
    this.#keepsContainers = keepsContainers;
    const now = this.#clock.now();
    this.#firstConnectedAt ??= now;
    this.#outages = this.#outages.map((outage) => ({ ...outage, to: outage.to ?? now }));
    this.seen();
  }

  /** Records that the engine is available, so that containers that ended before have all their output. */
  seen(): void {
    if (this.#firstConnectedAt === undefined || !this.#isConnected) return;
    this.#seenAt = this.#clock.now();
    this.#save(this.#seenAt);
  }

  #save(seenAt: number): void {
    const outages = [...this.#earlier, ...this.#outages].slice(-knownMax);
    this.#record?.save({ seenAt, outages });
  }

  get #isConnected(): boolean {
    const last = this.#outages.at(-1);
    return last === undefined || last.to !== undefined;
  }

  /** Whether a container ended before the first connection of this process; true as long as there was none. */
  isEarlier(exitedAt: number): boolean {
    return this.#firstConnectedAt === undefined || exitedAt < this.#firstConnectedAt;
  }

  /** The outage at a time, milliseconds since the epoch, that this or an earlier process observed or inferred; or undefined. */
  at(ms: number): Outage | undefined {
    return [...this.#outages, ...this.#earlier].find(
      ({ from, to }) => ms >= from && (to === undefined || ms <= to),
    );
  }

  /** Whether a container ended because the engine stopped, according to the outages that a process observed. */
  endedByEngine(end: ContainerEnd): boolean {
    const { startedAt, exitedAt } = end;
    if (this.#keepsContainers && !hasCodeOfStop(end)) return false;
    const observed = [...this.#outages, ...this.#earlier.filter((outage) => outage.observed)];
    return observed.some(({ from, to }) => {
      if (to !== undefined && exitedAt > to) return false;
      // A container that ran before the stop began keeps running.
      return this.#keepsContainers ? startedAt >= from - engineStopMs : exitedAt >= from - slackMs;
    });
  }
}
