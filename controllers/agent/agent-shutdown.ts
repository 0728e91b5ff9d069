import { type Clock, type Logger, type Manager, messageOf, sleep, within } from 'kedge';
import { type Instance, instances } from '../instance/kind.js';
import type { AbandonedWorkloads } from './recovery/abandoned-workloads.js';
import { type InstanceNotes, noted } from './instances/instance-notes.js';
import { graceMsOf, runtimeOf } from './instances/instance-runtime.js';
import { isOver } from './instances/restart.js';
import type { WorkloadStarts } from './instances/workload-starts.js';
import type { Runtime } from './runtime/runtime.js';
import { claimOf, type VolumeManager } from './volumes/volume-manager.js';
import type { WorkloadInputs } from './inputs/workload-inputs.js';

/** Wait after the budget for workloads that are killed at its end, milliseconds. */
const killMs = 250;

/** Dependencies of {@link AgentShutdown}. */
export interface AgentShutdownOptions {
  readonly manager: Manager;
  readonly node: string;
  readonly runtimes: readonly Runtime[];
  readonly volumeManager: VolumeManager;
  readonly notes: InstanceNotes;
  readonly inputs: WorkloadInputs;
  readonly starts: WorkloadStarts;
  readonly abandoned: AbandonedWorkloads;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The shutdown of an agent: ends the workloads of its node, also those of earlier processes, and releases volumes. */
export class AgentShutdown {
  readonly #options: AgentShutdownOptions;

  constructor(options: AgentShutdownOptions) {
    this.#options = options;
  }

  /**
   * Stops the workloads of this node in parallel, including those without an instance, each with its grace period, or
   * with the budget if that is shorter. Then releases the volumes within the remaining budget, except those of
   * workloads that may still run. Releases none if a workload without an instance may still run. The log has the result
   * in any case, also if the stop of a workload is not answered within the budget.
   */
  async run(budgetMs: number): Promise<void> {
    const { clock, logger, manager, node, volumeManager } = this.#options;
    const end = clock.monotonic() + budgetMs;
    const left = (): number => Math.max(0, end - clock.monotonic());
    const mine = manager
      .informer(instances)
      .lister.list()
      .filter((instance) => instance.node === node);
    const busy = new Set(mine.map(claimOf));
    let mayRun = true;
    const stops = Promise.all([
      this.endAbandoned(left()).then((ended) => (mayRun = !ended)),
      ...mine.map(async (instance) => {
        if (await this.#ends(instance, left)) busy.delete(claimOf(instance));
      }),
    ]);
    // A runtime may not answer, such as an engine that hangs in a start.
    const outcome = await within(stops, (over) => sleep(clock, left() + killMs, over));
    if (outcome.type === 'failed') throw outcome.error;
    const restMs = outcome.type === 'late' ? 0 : left();
    if (!mayRun || restMs === 0) return volumeManager.tearDown(restMs, busy);
    const total = volumeManager.heldHere().length;
    logger.warn('Volume teardown incomplete', { released: 0, total });
  }

  /**
   * Stops the workloads without an instance on this node. Returns false, and logs the error, if one of them may still
   * run: its volumes are unknown, so the caller must keep all mounts.
   */
  async endAbandoned(budgetMs?: number): Promise<boolean> {
    try {
      await this.#options.abandoned.stop(budgetMs);
      return true;
    } catch (error) {
      const message =
        'a workload without an instance on this node may still run; all mounts are kept';
      this.#options.logger.error(message, { error: messageOf(error) });
      return false;
    }
  }

  /**
   * Stops the workload of an instance, removes its files and writes that into its status. Returns false if the workload
   * may still run. A failure is logged; after the stop it keeps no volume attached.
   */
  async #ends(instance: Instance, leftMs: () => number): Promise<boolean> {
    const { runtimes, logger, starts } = this.#options;
    const warn = (message: string) => (error: unknown) =>
      logger.warn(message, { instance: claimOf(instance), error: messageOf(error) });
    try {
      await starts.begun(instance);
      const graceMs = Math.min(graceMsOf(instance), leftMs());
      await runtimeOf(runtimes, instance)?.stop(instance.metadata.uid, graceMs);
    } catch (error) {
      warn('a workload could not be stopped')(error);
      return false;
    }
    await this.#options.inputs
      .remove(instance)
      .catch(warn('files of a workload that has ended remain'));
    await this.#noteEnd(instance).catch(warn('the end of a workload could not be recorded'));
    return true;
  }

  #noteEnd(instance: Instance): Promise<void> {
    const { notes } = this.#options;
    // These volumes are released, not lost: the next start attaches them again.
    const released = { mounts: [] };
    if (isOver(instance)) return notes.note(instance, undefined, [], released);
    const message = 'stopped because kedged was stopped';
    const conditions = [
      noted('ContainersReady', false, 'DaemonStopped', message),
      noted('Ready', false, 'DaemonStopped', message),
    ];
    return notes.note(instance, 'Stopped', conditions, released);
  }
}
