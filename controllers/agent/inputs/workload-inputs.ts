import type { Logger } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import type { DataFiles } from './data-files.js';
import { DataMounts, type DataMountsOutcome } from './data-mounts.js';
import { environmentOf, type EnvironmentSources } from './environment.js';
import type { WorkloadMount } from '../runtime/runtime.js';

/** The inputs of a workload from secrets and configmaps, or why they are not ready. */
export type WorkloadInputsOutcome =
  | {
      readonly type: 'ready';
      readonly env: Readonly<Record<string, string>>;
      readonly mounts: readonly WorkloadMount[];
    }
  | Exclude<DataMountsOutcome, { readonly type: 'ready' }>;

/** Variables and files that workloads get from secrets and configmaps. */
export class WorkloadInputs {
  readonly #sources: EnvironmentSources;
  readonly #mounts: DataMounts;

  constructor(sources: EnvironmentSources, files: DataFiles, logger: Logger) {
    this.#sources = sources;
    this.#mounts = new DataMounts(files, sources, logger);
  }

  /**
   * Prepares the directory before the first start of a workload, and removes the files of deleted instances.
   * @param living uids of all instances
   */
  open(living: ReadonlySet<string>): Promise<void> {
    return this.#mounts.open(living);
  }

  /**
   * Returns the variables of a workload, and writes its files, before its start.
   * @throws StatusError Internal if a value of a secret can't be opened as a variable
   */
  async of(instance: Instance): Promise<WorkloadInputsOutcome> {
    const environment = environmentOf(instance, this.#sources);
    if (environment.type === 'missing') return environment;
    const data = await this.#mounts.write(instance, false);
    return data.type === 'ready' ? { ...environment, mounts: data.mounts } : data;
  }

  /** Updates the files of a running workload; its variables can't be updated. Undefined if the workload mounts none. */
  async follow(instance: Instance): Promise<DataMountsOutcome | undefined> {
    const outcome = await this.#mounts.write(instance, true);
    return outcome.type === 'ready' && outcome.mounts.length === 0 ? undefined : outcome;
  }

  /** Removes the files of a workload that has ended. */
  remove(instance: Instance): Promise<void> {
    return this.#mounts.remove(instance);
  }

  /** Removes the directory if no instance has files in it. */
  close(): Promise<void> {
    return this.#mounts.close();
  }
}
