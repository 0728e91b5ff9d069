import { type Logger, messageOf, type ObjectStore } from 'kedge';
import { instances } from '../../instance/kind.js';
import type { Runtime, StopProgress } from '../runtime/runtime.js';

/** Dependencies of {@link AbandonedWorkloads}. */
export interface AbandonedWorkloadsOptions {
  readonly store: ObjectStore;
  readonly node: string;
  readonly runtimes: readonly Runtime[];
  readonly logger: Logger;
}

interface Abandoned {
  readonly runtime: Runtime;
  readonly id: string;
}

/** The default grace period, milliseconds, because that of a deleted instance is unknown. */
const graceMs = 30_000;

/**
 * Workloads on this node without an instance on this node: the instance was deleted or moved, for example while the node
 * was disconnected. The workloads must end before another workload uses their volumes.
 */
export class AbandonedWorkloads {
  readonly #options: AbandonedWorkloadsOptions;
  /** Workloads that have ended and whose failed removal was logged. */
  readonly #remaining = new Set<string>();

  constructor(options: AbandonedWorkloadsOptions) {
    this.#options = options;
  }

  /**
   * Requests the stop of these workloads without waiting, and removes those that have ended. A failed removal is logged
   * once and retried by the next call: the workload uses no volume any more.
   * @param isKnown whether an instance of this node is known by its uid; other uids are looked up in the store
   * @throws Error if workloads survive SIGKILL, after the stops of all were requested; its message names each
   */
  async requestStop(isKnown: (uid: string) => boolean): Promise<StopProgress> {
    let checkInMs = Infinity;
    const failures: unknown[] = [];
    for (const { runtime, id } of await this.#find(isKnown)) {
      this.#reportStop(id);
      try {
        const progress = await runtime.requestStop(id, graceMs);
        if (progress.type === 'gone') await this.#remove({ runtime, id });
        else checkInMs = Math.min(checkInMs, progress.checkInMs);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, failures.map(messageOf).join('; '));
    return checkInMs === Infinity ? { type: 'gone' } : { type: 'stopping', checkInMs };
  }

  /**
   * Stops all these workloads, waits for their ends and removes them. Used at a start and at a shutdown. A failed removal
   * is logged.
   * @param budgetMs upper limit of the grace period, which is at most 30 s; the wait for the end after SIGKILL is added
   * @throws Error if a workload survives SIGKILL, or if workloads or instances can't be listed
   */
  async stop(budgetMs = graceMs): Promise<void> {
    const abandoned = await this.#find(() => false);
    await Promise.all(
      abandoned.map(async ({ runtime, id }) => {
        this.#reportStop(id);
        await runtime.stop(id, Math.min(graceMs, budgetMs));
        await this.#remove({ runtime, id });
      }),
    );
  }

  #reportStop(id: string): void {
    if (this.#remaining.has(id)) return;
    this.#options.logger.warn('a workload without an instance on this node is stopped', { id });
  }

  /** Removes a workload that has ended. It uses no volume any more, so that a failure must not delay others. */
  async #remove({ runtime, id }: Abandoned): Promise<void> {
    try {
      await runtime.remove(id);
      this.#remaining.delete(id);
    } catch (error) {
      if (this.#remaining.has(id)) return;
      this.#remaining.add(id);
      const message = 'a workload without an instance has ended, and remains';
      this.#options.logger.warn(message, { id, error: messageOf(error) });
    }
  }

  /**
   * Finds the workloads without an instance on this node. Lists workloads before instances: an instance is older than
   * its workload, so its workload is never taken for abandoned.
   */
  async #find(isKnown: (uid: string) => boolean): Promise<readonly Abandoned[]> {
    const { store, node, runtimes } = this.#options;
    const all = await Promise.all(
      runtimes.map(async (runtime) =>
        (await runtime.workloads()).map((id): Abandoned => ({ runtime, id })),
      ),
    );
    const unknown = all.flat().filter(({ id }) => !isKnown(id));
    if (unknown.length === 0) return [];
    const { items } = await store.list(instances);
    const living = new Set(
      items.filter((i) => i.node === node).map(({ metadata }) => metadata.uid),
    );
    return unknown.filter(({ id }) => !living.has(id));
  }
}
