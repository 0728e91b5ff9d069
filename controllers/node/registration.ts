import {
  type Clock,
  hasCode,
  type Logger,
  messageOf,
  modify,
  modifyStatus,
  type ObjectStore,
  type Runnable,
  setCondition,
  sleep,
  timestamp,
} from 'kedge';
import { type Node, nodes } from '../kinds/index.js';
import type { ControllerPolicy } from '../policy.js';

/** What a node tells of itself. */
export interface NodeRegistrationOptions {
  readonly store: ObjectStore;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  readonly version: string;
  readonly drivers: readonly string[];
  readonly runtimes: () => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** A node that is deleted again and again while it registers is given up after this many tries. */
const registrationTriesMax = 5;

/** Makes this node known and keeps it so. */
export class NodeRegistration implements Runnable {
  readonly name = 'node registration';
  readonly #options: NodeRegistrationOptions;
  readonly #stop = new AbortController();
  #beating: Promise<void> | undefined;

  constructor(options: NodeRegistrationOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#register();
    await this.#beat('Ready');
    this.#beating = this.#keepBeating();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#beating;
    await this.#beat('NotReady');
  }

  /** Adds what this node knows of itself; labels of others stay, also those written at this moment. */
  async #register(): Promise<void> {
    const { store, name, labels, address } = this.#options;
    for (let tries = 1; ; tries += 1) {
      const known = await modify(store, nodes, { name }, (current) => ({
        ...current,
        address,
        labels: { ...current.labels, ...labels },
      }));
      if (known) return;
      try {
        await store.create(nodes, { name, labels, address });
        return;
      } catch (error) {
        // Somebody created it since it was looked for.
        if (!hasCode(error, 'AlreadyExists') || tries >= registrationTriesMax) throw error;
      }
    }
  }

  /** False when there is no object of this node. */
  async #beat(status: NonNullable<Node['status']>): Promise<boolean> {
    const { store, clock, name, version, drivers } = this.#options;
    const runtimes = await this.#options.runtimes();
    const now = timestamp(clock);
    const known = await modifyStatus(store, nodes, { name }, (current) => ({
      status,
      version,
      drivers,
      runtimes,
      lastHeartbeatAt: now,
      conditions: setCondition(
        current.conditions,
        {
          type: 'Ready',
          status: status === 'Ready' ? 'True' : 'False',
          reason: status === 'Ready' ? 'AgentRunning' : 'AgentStopped',
          message: status === 'Ready' ? 'the agent tells of itself' : 'the agent was stopped',
        },
        now,
      ),
    }));
    return known !== undefined;
  }

  async #keepBeating(): Promise<void> {
    const { clock, logger, name, policy } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await sleep(clock, policy.heartbeatMs, signal);
      if (signal.aborted) return;
      try {
        if (await this.#beat('Ready')) continue;
        // Deleted while it is alive: what is on it stays where it is.
        logger.warn('the node was deleted, it makes itself known again', { node: name });
        await this.#register();
        await this.#beat('Ready');
      } catch (error) {
        logger.warn('heartbeat failed, will retry', { error: messageOf(error) });
      }
    }
  }
}
