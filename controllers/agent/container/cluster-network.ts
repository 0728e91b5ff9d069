import type { EngineClient } from './engine/engine-client.js';
import { isEngineError } from './engine/engine-error.js';
import { engineLabels } from './run-identity.js';

/** The bridge network that all containers of a cluster on this node share. */
export class ClusterNetwork {
  readonly name: string;
  readonly #engine: EngineClient;
  readonly #cluster: string;
  #making: Promise<void> | undefined;

  constructor(engine: EngineClient, cluster: string) {
    this.#engine = engine;
    this.#cluster = cluster;
    // The name includes the beginning of the cluster's id, so that users can tell clusters apart in lists of
    // networks.
    this.name = `kedge-${cluster.slice(0, 8)}`;
  }

  /**
   * Creates the network if it does not exist. Only one call creates it at a time: the engine allows duplicate
   * names.
   */
  ensure(signal: AbortSignal): Promise<void> {
    this.#making ??= this.#make(signal).finally(() => (this.#making = undefined));
    return this.#making;
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
}
