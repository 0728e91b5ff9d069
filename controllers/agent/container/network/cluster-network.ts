import type { EngineClient } from '../engine/engine-client.js';
import { isEngineError } from '../engine/engine-error.js';
import { clusterPrefix } from '../../runtime/cluster-prefix.js';
import { engineLabels } from '../run-identity.js';

/**
 * The bridge network that all containers of a cluster on this node share. It exists while there are containers of the
 * cluster.
 */
export class ClusterNetwork {
  readonly name: string;
  readonly #engine: EngineClient;
  readonly #cluster: string;
  /** Starts that need the network now. */
  #users = 0;
  /** The last step of the engine's network, so that it is not created and removed at the same time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(engine: EngineClient, cluster: string) {
    this.#engine = engine;
    this.#cluster = cluster;
    // The name includes the beginning of the cluster's id, so that users can tell clusters apart in lists of
    // networks.
    this.name = `kedge-${clusterPrefix(cluster)}`;
  }

  /** Does some work while the network exists; creates it if it does not. */
  async during<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      await this.#inTurn(() => this.#make(signal));
      return await work();
    } finally {
      this.#users -= 1;
    }
  }

  /** Removes the network if no container of the cluster is left. */
  removeIfUnused(signal: AbortSignal): Promise<void> {
    return this.#inTurn(() => this.#remove(signal));
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const next = this.#last.then(step);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #make(signal: AbortSignal): Promise<void> {
    if ((await this.#engine.networkNamed(this.name, signal)) !== undefined) return;
    try {
      await this.#engine.createBridge(this.name, { [engineLabels.cluster]: this.#cluster }, signal);
    } catch (error) {
      // Another daemon of the cluster created it meanwhile.
      if (!isEngineError(error, 'Conflict')) throw error;
    }
  }

  async #remove(signal: AbortSignal): Promise<void> {
    if (this.#users > 0) return;
    const { containers } = this.#engine;
    const label = `${engineLabels.cluster}=${this.#cluster}`;
    if ((await containers.list([label], signal)).length > 0) return;
    try {
      await this.#engine.removeNetwork(this.name, signal);
    } catch (error) {
      // The user connected a container to it.
      if (!isEngineError(error, 'Unauthorized')) throw error;
    }
  }
}
