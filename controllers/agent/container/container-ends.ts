import type { WorkloadState } from '../runtime/runtime.js';
import type { ContainerInspection } from './engine/engine-containers.js';
import type { RunIdentity } from './run-identity.js';
import { MemoryLimitEnds, type MemoryLimitEndsOptions } from './limits/memory-limit-ends.js';
import type { EngineStarts } from './outages/engine-starts.js';
import type { LoggedRun } from './logs/run-log.js';
import { StartRefusals } from './start-refusal.js';

type Running = Extract<WorkloadState, { state: 'running' }>;

/** Dependencies of {@link ContainerEnds}. */
export interface ContainerEndsOptions extends MemoryLimitEndsOptions {
  readonly starts: EngineStarts;
}

/** Determines the causes of the ends of containers. */
export class ContainerEnds {
  readonly #options: ContainerEndsOptions;
  readonly #refusals: StartRefusals;
  readonly #memory: MemoryLimitEnds;

  constructor(options: ContainerEndsOptions) {
    this.#options = options;
    this.#refusals = new StartRefusals(options.engine.containers, options.signal);
    this.#memory = new MemoryLimitEnds(options);
  }

  /** Records the event of the engine that a container reached its memory limit, `at` milliseconds since the epoch. */
  memoryLimitReported(run: RunIdentity, container: string, at: number): void {
    void this.#memory.reported(run, container, at);
  }

  /** Adds to the state of a running workload the cause of the previous end, if it became known too late for that end. */
  async ofPrevious(id: string, state: Running): Promise<Running> {
    const isKnown = await this.#memory.becameKnown({ id, run: state.run - 1 });
    return isKnown ? { ...state, previousEnd: { exitCode: 137, reason: 'OOMKilled' } } : state;
  }

  /** The state of an ended workload with the cause of its end; `ending` until it is known. @throws EngineError */
  async of(
    id: string,
    found: LoggedRun,
    inspection: ContainerInspection,
    end: Extract<WorkloadState, { state: 'exited' }>,
  ): Promise<WorkloadState> {
    const { signal, starts } = this.#options;
    const { run } = found;
    if (!end.requested) {
      const atLimit = await this.#memory.include({ id, run }, inspection);
      if (atLimit === undefined) return { state: 'ending', run };
      if (atLimit) return { ...end, reason: 'OOMKilled' };
      const by = await starts.ended({ id, run }, end, signal);
      if (by !== undefined)
        return { ...end, reason: 'EngineRestarted', ...(by === 'machine' && { rebooted: true }) };
    }
    const refused = await this.#refusals.of({ ...found, exitCode: end.exitCode });
    return refused === undefined ? end : { ...end, refused };
  }
}
