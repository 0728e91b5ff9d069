import {
  type Clock,
  hasCode,
  type Logger,
  messageOf,
  type ObjectStore,
  type Runnable,
  runTxn,
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

/** Makes this node known and keeps it so. */
export class NodeRegistration implements Runnable {
  readonly name = 'node registration';
  readonly #options: NodeRegistrationOptions;
  readonly #stop = new AbortController();
  #beating: Promise<void> | undefined;
  /** Of the object that it registered as. */
  #uid: string | undefined;

  constructor(options: NodeRegistrationOptions) {
    this.#options = options;
  }

  /** A disk without room for it does not keep the node from serving what it has: a heartbeat makes it known. */
  async start(): Promise<void> {
    await this.#whereRoomIs(async () => {
      await this.#register();
      await this.#beat('Ready');
    });
    this.#beating = this.#keepBeating();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#beating;
    await this.#whereRoomIs(() => this.#beat('NotReady'));
  }

  async #whereRoomIs(tell: () => Promise<unknown>): Promise<void> {
    try {
      await tell();
    } catch (error) {
      if (!hasCode(error, 'ResourceExhausted')) throw error;
      const { logger, name } = this.#options;
      logger.warn('the store has no room for what the node tells of itself', {
        node: name,
        error: messageOf(error),
      });
    }
  }

  /** Adds what this node knows of itself; labels of others stay, also those written at this moment. */
  async #register(): Promise<void> {
    // The uid of an object that was just created is known once it is found.
    this.#uid = (await this.#introduce()) ?? (await this.#introduce());
  }

  /** The uid of the object that tells it; undefined when that is created by this. */
  #introduce(): Promise<string | undefined> {
    const { store, name, labels, address } = this.#options;
    return runTxn(store, async (txn) => {
      const current = await txn.get(nodes, { name });
      if (current)
        txn.update(nodes, { ...current, address, labels: { ...current.labels, ...labels } });
      else txn.create(nodes, { name, labels, address });
      return current?.metadata.uid;
    });
  }

  /** False when the object of this node is not the one that it registered as: gone, or made again. */
  async #beat(status: NonNullable<Node['status']>): Promise<boolean> {
    const { store, clock, name, version, drivers } = this.#options;
    const runtimes = await this.#options.runtimes();
    const now = timestamp(clock);
    const ready = {
      type: 'Ready',
      status: status === 'Ready' ? 'True' : 'False',
      reason: status === 'Ready' ? 'AgentRunning' : 'AgentStopped',
      message: status === 'Ready' ? 'the agent tells of itself' : 'the agent was stopped',
    } as const;
    return runTxn(store, async (txn) => {
      const current = await txn.get(nodes, { name }, { watching: ['conditions'] });
      if (!current || current.metadata.uid !== this.#uid) return false;
      const conditions = setCondition(current.conditions, ready, now);
      const told = { status, version, drivers, runtimes, lastHeartbeatAt: now, conditions };
      txn.updateStatus(nodes, { name }, told);
      return true;
    });
  }

  async #keepBeating(): Promise<void> {
    const { clock, logger, name, policy } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await sleep(clock, policy.heartbeatMs, signal);
      if (signal.aborted) return;
      try {
        if (await this.#beat('Ready')) continue;
        // Deleted, or made anew by somebody, while it is alive: what is on it stays where it is.
        if (this.#uid !== undefined)
          logger.warn(
            'the node is not the one that it registered as, it makes itself known again',
            {
              node: name,
            },
          );
        await this.#register();
        await this.#beat('Ready');
      } catch (error) {
        logger.warn('heartbeat failed, will retry', { error: messageOf(error) });
      }
    }
  }
}
