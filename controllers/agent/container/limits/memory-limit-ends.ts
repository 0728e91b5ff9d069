import type { Clock } from 'kedge';
import type { ContainerRecords } from '../container-records.js';
import type { EngineClient } from '../engine/engine-client.js';
import type { ContainerInspection } from '../engine/engine-containers.js';

/** The engine reports that a container reached its memory limit at most this long after its end. */
const reportMs = 1_000;
const sigkilled = 137;

/** Detects runs that were killed at their memory limit. */
export class MemoryLimitEnds {
  readonly #engine: EngineClient;
  readonly #records: ContainerRecords;
  readonly #clock: Clock;

  constructor(engine: EngineClient, records: ContainerRecords, clock: Clock) {
    this.#engine = engine;
    this.#records = records;
    this.#clock = clock;
  }

  /**
   * Whether a run that ended without a request was killed at its memory limit. The engine marks the container only if
   * it learns of the limit before the end. Its event comes in both cases, and the answer waits for it. The answer is
   * recorded, because the engine loses its events when it stops.
   * @throws EngineError
   */
  async include(
    { id, run }: { readonly id: string; readonly run: number },
    found: ContainerInspection,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (found.outOfMemory) return true;
    const { exitCode, finishedAt, startedAt, limits } = found;
    if (exitCode !== sigkilled || limits.memoryBytes === 0) return false;
    if (startedAt === undefined || finishedAt === undefined) return false;
    if (await this.#records.endedAtMemoryLimit(id, run)) return true;
    const times = { sinceMs: startedAt, untilMs: finishedAt + reportMs };
    if (!(await this.#engine.hasEvent(found.id, 'oom', times, signal))) return false;
    await this.#records.memoryLimitReached(id, run, this.#clock.now());
    return true;
  }
}
