import { keyString, type Manager, type Request, requeueAfter, type Result, retry } from 'kedge';
import { type Instance, instances } from '../../instance/kind.js';
import type { StopProgress } from '../runtime/runtime.js';
import { SharedCall } from '../runtime/shared-call.js';
import type { AbandonedWorkloads } from './abandoned-workloads.js';

/** Dependencies of {@link AbandonedWaits}. */
export interface AbandonedWaitsOptions {
  readonly manager: Manager;
  readonly node: string;
  readonly abandoned: AbandonedWorkloads;
}

/** Keys that wait for the end of workloads without instances. */
export class AbandonedWaits {
  /** Stops the workloads. Each call lists all workloads of the node, so that concurrent reconciles share it. */
  readonly #stop: SharedCall<StopProgress>;
  readonly #waiting = new Map<string, Request['key']>();

  constructor({ manager, node, abandoned }: AbandonedWaitsOptions) {
    const { lister } = manager.informer(instances);
    const isKnown = (uid: string): boolean =>
      lister.byIndex('uid', uid).some((instance) => instance.node === node);
    this.#stop = new SharedCall(() => abandoned.requestStop(isKnown));
  }

  /** Removes the waiting keys and returns them. */
  takeWaiting(): readonly Request['key'][] {
    const keys = [...this.#waiting.values()];
    this.#waiting.clear();
    return keys;
  }

  /**
   * Requests the stop of the workloads without instances. Returns undefined if none remains. Otherwise `key` waits, and
   * the returned result ends its reconcile; after an error the result is a retry.
   */
  async stopFor(key: Request['key']): Promise<Result | undefined> {
    try {
      const progress = await this.#stop.ask();
      if (progress.type === 'gone') return undefined;
      this.#waiting.set(keyString(key), key);
      return requeueAfter(progress.checkInMs);
    } catch (error) {
      return retry(error);
    }
  }

  /** Delays an instance with volumes while workloads without instances may write to them. Undefined if it may start. */
  async before({ namespace, name, template }: Instance): Promise<Result | undefined> {
    return (template.volumes ?? []).length > 0 ? this.stopFor({ namespace, name }) : undefined;
  }
}
