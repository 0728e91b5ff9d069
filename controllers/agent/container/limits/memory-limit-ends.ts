import { type Clock, linkSignals, type Logger, messageOf } from 'kedge';
import type { ContainerRecords } from '../container-records.js';
import type { EngineClient } from '../engine/engine-client.js';
import type { ContainerInspection } from '../engine/engine-containers.js';
import type { RunIdentity } from '../run-identity.js';
import { MemoryKills } from './memory-kills.js';

/**
 * The next run waits this long for the report that a container reached its memory limit. The engine usually sends it
 * earlier than that. A later report corrects the cause of the end.
 */
const reportMs = 2_000;
/** The engine reports an end at most this long after it. On a slow machine it took 0.7 s. */
const delayMaxMs = 10_000;
/** Deadline of a search, including the wait for its turn. */
const answerMs = 5_000;
/** Maximum concurrent searches: each is a connection that is open for up to a second. */
const searchesMax = 16;
/** Maximum number of ended containers whose result is cached. */
const knownMax = 10_000;
const sigkilled = 137;

/** Dependencies of {@link MemoryLimitEnds}. */
export interface MemoryLimitEndsOptions {
  readonly engine: EngineClient;
  readonly records: ContainerRecords;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends all searches. */
  readonly signal: AbortSignal;
  /** The kills that the kernel logged. Default: those of this machine. */
  readonly kills?: MemoryKills;
  /** Called with the id of a workload when a search has ended, or its limit was reported. */
  readonly onKnown: (id: string) => void;
}

type Run = Pick<RunIdentity, 'id' | 'run'>;

/**
 * Detects runs that were killed at their memory limit. The engine marks a container only if it learns of the limit
 * before the end. It may send its event later, and loses it if it is busy or stopped. The log of the kernel has the kill
 * before the end, but only root may read it, and it describes a limited number of kills. Each source is sufficient.
 */
export class MemoryLimitEnds {
  readonly #options: MemoryLimitEndsOptions;
  readonly #kills: MemoryKills;
  /** Results by container; undefined while it is searched. */
  readonly #known = new Map<string, boolean | undefined>();
  readonly #waiting: (() => void)[] = [];
  #searches = 0;

  constructor(options: MemoryLimitEndsOptions) {
    this.#options = options;
    const { kills = new MemoryKills(), signal } = options;
    this.#kills = kills;
    signal.addEventListener('abort', () => kills.close(), { once: true });
  }

  /**
   * Whether a run that ended without a request was killed at its memory limit. Undefined until the event has come or is
   * no longer awaited; the caller is notified. The result is recorded, because the engine loses its events when it
   * stops. False may become true: see {@link becameKnown}.
   */
  async include({ id, run }: Run, found: ContainerInspection): Promise<boolean | undefined> {
    if (found.outOfMemory) return true;
    const { exitCode, finishedAt, startedAt, limits } = found;
    if (exitCode !== sigkilled || limits.memoryBytes === 0) return false;
    if (startedAt === undefined || finishedAt === undefined) return false;
    if (this.#known.has(found.id)) return this.#known.get(found.id);
    if (await this.#isRecorded({ id, run }, found.id)) return true;
    // A concurrent caller may have begun the search meanwhile.
    if (this.#known.has(found.id)) return this.#known.get(found.id);
    if (this.#known.size >= knownMax) this.#forget();
    this.#known.set(found.id, undefined);
    const now = this.#options.clock.now();
    const reportedAt = Math.min(Math.max(now, finishedAt), finishedAt + delayMaxMs);
    // The clock of the engine may have been set back while the container ran.
    const sinceMs = Math.min(startedAt, finishedAt);
    void this.#search({ id, run }, found.id, { sinceMs, untilMs: reportedAt + reportMs });
    return undefined;
  }

  /**
   * Records that the engine reported the limit of a run: before its end, or after the search for its cause. The caller is
   * notified.
   */
  async reported({ id, run }: Run, container: string): Promise<void> {
    if (this.#options.signal.aborted) return;
    await this.#record({ id, run });
    if (this.#known.has(container)) this.#known.set(container, true);
    this.#options.onKnown(id);
  }

  /** Whether {@link include} returned false for a run whose limit was reported later. */
  async becameKnown({ id, run }: Run): Promise<boolean> {
    const { records } = this.#options;
    return (
      (await records.wasKilledUnexplained(id, run)) && (await records.reachedMemoryLimit(id, run))
    );
  }

  /** Whether the records or the kernel have the limit of a run. */
  async #isRecorded(run: Run, container: string): Promise<boolean> {
    const { records } = this.#options;
    if (await records.reachedMemoryLimit(run.id, run.run)) return true;
    if (!(await this.#kills.include(container))) return false;
    await this.#record(run);
    return true;
  }

  /** Records that a run reached its limit. The record is needed only after a restart of this process. */
  async #record({ id, run }: Run): Promise<void> {
    const { clock, logger, records } = this.#options;
    try {
      if (!(await records.reachedMemoryLimit(id, run)))
        await records.memoryLimitReached(id, run, clock.now());
    } catch (error) {
      // The workload was removed meanwhile, or the disk is full.
      logger.debug('a reached memory limit is not recorded', { id, error: messageOf(error) });
    }
  }

  #forget(): void {
    for (const [container, result] of this.#known)
      if (result !== undefined) this.#known.delete(container);
  }

  async #search(
    { id, run }: Run,
    container: string,
    times: { readonly sinceMs: number; readonly untilMs: number },
  ): Promise<void> {
    const { clock, logger, onKnown, records, signal } = this.#options;
    const late = new AbortController();
    const timer = clock.setTimer(() => late.abort(), answerMs);
    using linked = linkSignals(signal, late.signal);
    let reached = false;
    try {
      await this.#turn();
      reached = await this.#options.engine.hasEvent(container, 'oom', times, linked.signal);
      if (reached) await this.#record({ id, run });
    } catch (error) {
      // An engine that can't answer must not delay the next run: the event is only the reason of this end.
      const label = { container, error: messageOf(error) };
      logger.debug('the cause of the end of a container is not completely known', label);
    } finally {
      timer.cancel();
      this.#searches -= 1;
      this.#waiting.shift()?.();
    }
    if (signal.aborted) return;
    if (!reached)
      await records.killedUnexplained(id, run, clock.now()).catch((error: unknown) => {
        // Without the record, a later report does not correct the cause in the status of the next run.
        logger.debug('an unexplained end is not recorded', { id, error: messageOf(error) });
      });
    // It may have been reported to this process during the search.
    this.#known.set(container, reached || this.#known.get(container) === true);
    onKnown(id);
  }

  /** Waits until fewer than the maximum of searches run. */
  async #turn(): Promise<void> {
    this.#searches += 1;
    if (this.#searches > searchesMax)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
