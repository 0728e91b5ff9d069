import type { EngineClient, EngineNetwork } from '../engine/engine-client.js';
import { isEngineError } from '../engine/engine-error.js';
import { clusterPrefix } from '../../runtime/cluster-prefix.js';
import { engineLabels } from '../run-identity.js';
import { networkForeign } from '../../../messages/starts.js';

/** The bridge network of a cluster on this node. It is removed when the cluster has no containers here. */
export class ClusterNetwork {
  readonly name: string;
  readonly #engine: EngineClient;
  readonly #cluster: string;
  /** Number of starts that use the network. */
  #users = 0;
  /** The last operation on the network: creation and removal are serialized. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(engine: EngineClient, cluster: string) {
    this.#engine = engine;
    this.#cluster = cluster;
    // The name includes the prefix of the cluster id, so that users can distinguish clusters in lists of networks.
    this.name = `kedge-${clusterPrefix(cluster)}`;
  }

  /**
   * Runs work while the network exists, and creates it if necessary.
   * @throws Error if the name is in use by another network; EngineError, and errors of `work`
   */
  async during<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      await this.#inTurn(() => this.#make(signal));
      return await work();
    } finally {
      this.#users -= 1;
    }
  }

  /** Removes the network if the cluster has no containers left. */
  removeIfUnused(signal: AbortSignal): Promise<void> {
    return this.#inTurn(() => this.#remove(signal));
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const next = this.#last.then(step);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #make(signal: AbortSignal): Promise<void> {
    const known = await this.#engine.networkNamed(this.name, signal);
    if (known) return this.#requireOwn(known);
    try {
      await this.#engine.createBridge(this.name, { [engineLabels.cluster]: this.#cluster }, signal);
    } catch (error) {
      // Another daemon of the cluster created it meanwhile.
      if (!isEngineError(error, 'Conflict')) throw error;
      const created = await this.#engine.networkNamed(this.name, signal);
      if (created) this.#requireOwn(created);
    }
  }

  #isOwn({ labels }: EngineNetwork): boolean {
    return labels[engineLabels.cluster] === this.#cluster;
  }

  #requireOwn(network: EngineNetwork): void {
    if (this.#isOwn(network)) return;
    throw new Error(
      `${networkForeign.format({ network: this.name })}; remove that network (docker network rm ${this.name})`,
    );
  }

  async #remove(signal: AbortSignal): Promise<void> {
    if (this.#users > 0) return;
    const { containers } = this.#engine;
    const label = `${engineLabels.cluster}=${this.#cluster}`;
    if ((await containers.list([label], signal)).length > 0) return;
    const known = await this.#engine.networkNamed(this.name, signal);
    if (!known || !this.#isOwn(known)) return;
    try {
      await this.#engine.removeNetwork(known.id, signal);
    } catch (error) {
      // A user connected a container to it.
      if (!isEngineError(error, 'Unauthorized')) throw error;
    }
  }
}
