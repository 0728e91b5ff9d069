import { type Clock, linkSignals, type Logger, messageOf } from 'kedge';
import type { ContainerRecords } from '../container-records.js';
import type { EngineClient } from '../engine/engine-client.js';
import type { ContainerInspection } from '../engine/engine-containers.js';
import type { RunIdentity } from '../run-identity.js';

/** The engine reports that a container reached its memory limit at most this long after it reported the end. */
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
  /** Called with the id of a workload when a search has ended. */
  readonly onKnown: (id: string) => void;
}

/** Detects runs that were killed at their memory limit. */
export class MemoryLimitEnds {
  readonly #options: MemoryLimitEndsOptions;
  /** Results by container; undefined while it is searched. */
  readonly #known = new Map<string, boolean | undefined>();
  readonly #waiting: (() => void)[] = [];
  #searches = 0;

  constructor(options: MemoryLimitEndsOptions) {
    this.#options = options;
  }

  /**
   * Whether a run that ended without a request was killed at its memory limit. The engine marks the container only if
   * it learns of the limit before the end, but sends its event in both cases. Undefined until the event has come or is
   * no longer expected; the caller is notified. The result is recorded, because the engine loses its events when it
   * stops.
   */
  async include(
    { id, run }: Pick<RunIdentity, 'id' | 'run'>,
    found: ContainerInspection,
  ): Promise<boolean | undefined> {
    if (found.outOfMemory) return true;
    const { exitCode, finishedAt, startedAt, limits } = found;
    if (exitCode !== sigkilled || limits.memoryBytes === 0) return false;
    if (startedAt === undefined || finishedAt === undefined) return false;
    if (this.#known.has(found.id)) return this.#known.get(found.id);
    if (await this.#options.records.endedAtMemoryLimit(id, run)) return true;
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

  #forget(): void {
    for (const [container, result] of this.#known)
      if (result !== undefined) this.#known.delete(container);
  }

  async #search(
    { id, run }: Pick<RunIdentity, 'id' | 'run'>,
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
      if (reached) await records.memoryLimitReached(id, run, clock.now());
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
    this.#known.set(container, reached);
    onKnown(id);
  }

  /** Waits until fewer than the maximum of searches run. */
  async #turn(): Promise<void> {
    this.#searches += 1;
    if (this.#searches > searchesMax)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
