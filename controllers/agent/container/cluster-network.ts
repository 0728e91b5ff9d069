import type { EngineClient } from './engine/engine-client.js';
import { isEngineError } from './engine/engine-error.js';
import { engineLabels } from './run-identity.js';

/** The bridge that all containers of a cluster on this node share. */
export class ClusterNetwork {
  readonly name: string;
  readonly #engine: EngineClient;
  readonly #cluster: string;
  #making: Promise<void> | undefined;

  constructor(engine: EngineClient, cluster: string) {
    this.#engine = engine;
    this.#cluster = cluster;
    // Names of bridges stand in lists of users: the beginning of the id tells clusters apart.
    this.name = `kedge-${cluster.slice(0, 8)}`;
  }

  /** It is there. One maker at a time: the engine would make two of one name. */
  ensure(signal: AbortSignal): Promise<void> {
    this.#making ??= this.#make(signal).finally(() => (this.#making = undefined));
    return this.#making;
  }

  async #make(signal: AbortSignal): Promise<void> {
    if ((await this.#engine.networkNamed(this.name, signal)) !== undefined) return;
    try {
      await this.#engine.createBridge(this.name, { [engineLabels.cluster]: this.#cluster }, signal);
    } catch (error) {
      // Another daemon of the cluster was faster.
      if (!isEngineError(error, 'Conflict')) throw error;
    }
  }
}
