import { keyString, type Manager, type Request, requeueAfter, type Result, retry } from 'kedge';
import { type Instance, instances } from '../../instance/kind.js';
import type { AbandonedWorkloads } from './abandoned-workloads.js';

/** Dependencies of {@link AbandonedWaits}. */
export interface AbandonedWaitsOptions {
  readonly manager: Manager;
  readonly node: string;
  readonly abandoned: AbandonedWorkloads;
}

/** Keys that wait for the end of workloads without instances. */
export class AbandonedWaits {
  readonly #options: AbandonedWaitsOptions;
  readonly #waiting = new Map<string, Request['key']>();

  constructor(options: AbandonedWaitsOptions) {
    this.#options = options;
  }

  /** The waiting keys, each once. */
  takeWaiting(): readonly Request['key'][] {
    const keys = [...this.#waiting.values()];
    this.#waiting.clear();
    return keys;
  }

  /** Stops them for the waiting `key`. Undefined once none is left. */
  async stopFor(key: Request['key']): Promise<Result | undefined> {
    const { manager, node, abandoned } = this.#options;
    const { lister } = manager.informer(instances);
    const isKnown = (uid: string): boolean =>
      lister.byIndex('uid', uid).some((instance) => instance.node === node);
    try {
      const progress = await abandoned.requestStop(isKnown);
      if (progress.type === 'gone') return undefined;
      this.#waiting.set(keyString(key), key);
      return requeueAfter(progress.checkInMs);
    } catch (error) {
      return retry(error);
    }
  }

  /** An earlier instance of the name may still write to the volumes that it claimed. */
  async before({ namespace, name, template }: Instance): Promise<Result | undefined> {
    return (template.volumes ?? []).length > 0 ? this.stopFor({ namespace, name }) : undefined;
  }
}
