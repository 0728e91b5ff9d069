import {
  type Clock,
  hasCode,
  type Logger,
  messageOf,
  modifyStatus,
  type ObjectStore,
  type Runnable,
  setCondition,
  sleep,
  timestamp,
} from 'kedge';
import { type Node, nodes } from '../kinds/index.js';

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
}

/** A node that has not told of itself for a few of these is not ready. */
const heartbeatMs = 10_000;

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
    const { store, name, labels, address } = this.#options;
    try {
      await store.create(nodes, { name, labels, address });
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
      const known = await store.get(nodes, { name });
      if (known)
        await store.update(nodes, { ...known, address, labels: { ...known.labels, ...labels } });
    }
    await this.#beat('Ready');
    this.#beating = this.#keepBeating();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#beating;
    await this.#beat('NotReady');
  }

  async #beat(status: NonNullable<Node['status']>): Promise<void> {
    const { store, clock, name, version, drivers } = this.#options;
    const runtimes = await this.#options.runtimes();
    const now = timestamp(clock);
    await modifyStatus(store, nodes, { name }, (current) => ({
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
  }

  async #keepBeating(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await sleep(clock, heartbeatMs, signal);
      if (signal.aborted) return;
      try {
        await this.#beat('Ready');
      } catch (error) {
        logger.warn('heartbeat failed, will retry', { error: messageOf(error) });
      }
    }
  }
}
