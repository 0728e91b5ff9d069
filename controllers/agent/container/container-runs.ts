import type { ContainerRecords } from './container-records.js';
import type { ContainerInspection, EngineContainers } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';
import { StuckStarts, type StuckStartsOptions } from './outages/stuck-starts.js';
import { engineLabels, type FoundRun, runOf } from './run-identity.js';

/** Dependencies of {@link ContainerRuns}. */
export interface ContainerRunsOptions
  extends Pick<StuckStartsOptions, 'clock' | 'logger' | 'policy'> {
  readonly containers: EngineContainers;
  readonly cluster: string;
  readonly records: ContainerRecords;
  readonly signal: AbortSignal;
}

/** Finds the runs of workloads in the engine. */
export class ContainerRuns {
  readonly #options: ContainerRunsOptions;
  /** Calls for the containers of runs that may hang in the engine. */
  readonly stuck: StuckStarts;

  constructor(options: ContainerRunsOptions) {
    this.#options = options;
    this.stuck = new StuckStarts({ ...options, runs: (id) => this.of(id) });
  }

  /** The runs of a workload that have containers, oldest first. @throws EngineError */
  async of(id: string): Promise<readonly FoundRun[]> {
    const { cluster, containers, signal } = this.#options;
    const labels = [`${engineLabels.cluster}=${cluster}`, `${engineLabels.instance}=${id}`];
    const found = await containers.list(labels, signal);
    return found
      .flatMap((container): readonly FoundRun[] => {
        const run = runOf(container.labels)?.run;
        return run === undefined ? [] : [{ run, container: container.id, state: container.state }];
      })
      .sort((a, b) => a.run - b.run);
  }

  /** The state of the container of a run; undefined if it does not exist. @throws as {@link StuckStarts.during} */
  inspect(id: string, { run, container }: FoundRun): Promise<ContainerInspection | undefined> {
    const { containers, signal } = this.#options;
    return this.stuck.during(id, run, () => containers.inspect(container, signal));
  }

  /**
   * The runs to stop. Empty if the engine is unavailable and this node never started a run of the workload.
   * @throws EngineError
   */
  async toStop(id: string): Promise<readonly FoundRun[]> {
    try {
      return await this.of(id);
    } catch (error) {
      const isNew = (await this.#options.records.lastRun(id)) === 0;
      if (isNew && isEngineError(error, 'Unreachable', 'Unsupported')) return [];
      throw error;
    }
  }

  /**
   * Ids of all workloads with a container or a record; only those with a record if the engine is unavailable.
   * @throws EngineError of other kinds
   */
  async workloads(): Promise<readonly string[]> {
    const { cluster, containers, records, signal } = this.#options;
    const known = await records.workloads();
    try {
      const found = await containers.list([`${engineLabels.cluster}=${cluster}`], signal);
      const ids = found.flatMap(({ labels: given }) => runOf(given)?.id ?? []);
      return [...new Set([...known, ...ids])];
    } catch (error) {
      // The records contain all containers of this node. Without an engine they are the only source.
      if (!isEngineError(error, 'Unreachable', 'Unsupported')) throw error;
      return known;
    }
  }
}
