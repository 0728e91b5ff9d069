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
/**
 * A kill at the memory limit explains an end at most this much later. The kill of the main process is its end, but an end
 * may also follow from that of another process, and a large process needs time to release its memory.
 */
const explainedMs = 10_000;
/** The limit of a run is recorded again only if it is reached this much later: many processes may be killed in a row. */
const recordedEveryMs = 1_000;
/** Deadline of a search, including the wait for its turn. */
const answerMs = 5_000;
/** Maximum concurrent searches: each is a connection that is usually open for 2 seconds. */
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
  readonly kills?: MemoryKills | undefined;
  /** Called with the id of a workload when a search has ended, or its limit was reported. */
  readonly onKnown: (id: string) => void;
}

type Run = Pick<RunIdentity, 'id' | 'run'>;

/**
 * Whether a kill at one time explains an end at another. A kill may be dated later than the end: engines date its event
 * when they learn of it, and clocks are set.
 */
function explains(at: number | undefined, finishedAt: number): boolean {
  return at !== undefined && at >= finishedAt - explainedMs;
}

/**
 * Detects runs that were killed at their memory limit. The engine marks a container only if it learns of the limit
 * before the end. It may send its event later, and loses it if it is busy or stopped. The log of the kernel has the kill
 * before the end, but often only root may read it, and it describes a limited number of kills. Each source is
 * sufficient.
 */
export class MemoryLimitEnds {
  readonly #options: MemoryLimitEndsOptions;
  readonly #kills: MemoryKills;
  /** The result by container; undefined while it is searched. */
  readonly #known = new Map<
    string,
    { readonly finishedAt: number; reached: boolean | undefined }
  >();
  readonly #waiting: (() => void)[] = [];
  #searches = 0;

  constructor(options: MemoryLimitEndsOptions) {
    this.#options = options;
    const { logger, kills = new MemoryKills({ logger }), signal } = options;
    this.#kills = kills;
    signal.addEventListener('abort', () => kills.close(), { once: true });
  }

  /**
   * Whether a run that ended without a request was killed at its memory limit, shortly before the end: a kill of another
   * process of the container may be days old. Undefined until the event has come or is no longer awaited; the caller is
   * notified. The result is recorded, because the engine loses its events when it stops. False may become true: see
   * {@link becameKnown}.
   */
  async include({ id, run }: Run, found: ContainerInspection): Promise<boolean | undefined> {
    const { exitCode, finishedAt, startedAt, limits, outOfMemory } = found;
    if (exitCode !== sigkilled || limits.memoryBytes === 0) return outOfMemory;
    if (startedAt === undefined || finishedAt === undefined) return outOfMemory;
    const recordedAt = await this.#options.records.memoryLimitAt(id, run);
    // The mark of the engine has no time. It may be that of a recorded kill long before the end.
    if (outOfMemory && recordedAt === undefined) return true;
    const known = this.#known.get(found.id);
    if (known) return known.reached;
    if (explains(recordedAt, finishedAt)) return true;
    if (await this.#isLogged({ id, run }, found.id, finishedAt)) return true;
    // A concurrent caller may have begun the search meanwhile.
    const begun = this.#known.get(found.id);
    if (begun) return begun.reached;
    if (this.#known.size >= knownMax) this.#forget();
    this.#known.set(found.id, { finishedAt, reached: undefined });
    const now = this.#options.clock.now();
    const reportedAt = Math.min(Math.max(now, finishedAt), finishedAt + delayMaxMs);
    // The clock of the engine may have been set back while the container ran.
    const sinceMs = Math.max(Math.min(startedAt, finishedAt), finishedAt - explainedMs);
    const times = { sinceMs, untilMs: reportedAt + reportMs, finishedAt };
    void this.#search({ id, run }, found.id, times);
    return undefined;
  }

  /**
   * Records that the engine reported the limit of a run: before its end, or after the search for its cause. The caller is
   * notified.
   * @param at time of the report, milliseconds since the epoch
   */
  async reported({ id, run }: Run, container: string, at: number): Promise<void> {
    if (this.#options.signal.aborted) return;
    await this.#record({ id, run }, at);
    const known = this.#known.get(container);
    if (known && explains(at, known.finishedAt)) known.reached = true;
    this.#options.onKnown(id);
  }

  /** Whether {@link include} returned false for a run whose limit was reported later. */
  async becameKnown({ id, run }: Run): Promise<boolean> {
    const { records } = this.#options;
    const killedAt = await records.unexplainedKillAt(id, run);
    return killedAt !== undefined && explains(await records.memoryLimitAt(id, run), killedAt);
  }

  /** Whether the kernel logged a kill that explains the end of a container. It is recorded. */
  async #isLogged(run: Run, container: string, finishedAt: number): Promise<boolean> {
    const sinceEndMs = Math.max(0, this.#options.clock.now() - finishedAt);
    if (!(await this.#kills.include(container, sinceEndMs + explainedMs))) return false;
    await this.#record(run, finishedAt);
    return true;
  }

  /** Records that a run reached its limit. The record is needed for its end, and after a restart of this process. */
  async #record({ id, run }: Run, at: number): Promise<void> {
    const { logger, records } = this.#options;
    try {
      const before = await records.memoryLimitAt(id, run);
      if (before === undefined || at - before >= recordedEveryMs)
        await records.memoryLimitReached(id, run, Math.floor(at));
    } catch (error) {
      // The workload was removed meanwhile, or the disk is full.
      logger.debug('a reached memory limit is not recorded', { id, error: messageOf(error) });
    }
  }

  #forget(): void {
    for (const [container, { reached }] of this.#known)
      if (reached !== undefined) this.#known.delete(container);
  }

  async #search(
    { id, run }: Run,
    container: string,
    {
      finishedAt,
      ...times
    }: { readonly sinceMs: number; readonly untilMs: number; readonly finishedAt: number },
  ): Promise<void> {
    const { clock, logger, onKnown, records, signal } = this.#options;
    const late = new AbortController();
    const timer = clock.setTimer(() => late.abort(), answerMs);
    using linked = linkSignals(signal, late.signal);
    let reached = false;
    try {
      await this.#turn();
      reached = await this.#options.engine.hasEvent(container, 'oom', times, linked.signal);
      if (reached) await this.#record({ id, run }, finishedAt);
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
      await records.killedUnexplained(id, run, Math.floor(finishedAt)).catch((error: unknown) => {
        // Without the record, a later report does not correct the cause in the status of the next run.
        logger.debug('an unexplained end is not recorded', { id, error: messageOf(error) });
      });
    // It may have been reported to this process during the search.
    const wasReported = this.#known.get(container)?.reached === true;
    this.#known.set(container, { finishedAt, reached: reached || wasReported });
    onKnown(id);
  }

  /** Waits until fewer than the maximum of searches run. */
  async #turn(): Promise<void> {
    this.#searches += 1;
    if (this.#searches > searchesMax)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
