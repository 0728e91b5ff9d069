import {
  type Clock,
  type Controller,
  failedPrecondition,
  hasCode,
  type Logger,
  messageOf,
  type ObjectStore,
  type Runnable,
  runTxn,
  sleep,
  type StatusError,
  timestamp,
} from 'kedge';
import { type Node, nodes } from './kind.js';
import type { ControllerPolicy } from '../policy/policy.js';
import { setCondition } from '../reasons/index.js';
import { machineCapacity } from './capacity.js';
import type { AgentLife } from './agent-life.js';

/** Options of a node's registration. */
export interface NodeRegistrationOptions {
  readonly store: ObjectStore;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  readonly version: string;
  readonly drivers: readonly string[];
  readonly runtimes: () => Promise<readonly string[]>;
  /** The resources of the node as quantities. Default: those of this machine. */
  readonly capacity?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  readonly life: AgentLife;
  /** Controllers that call drivers for this node: they end before the node reports its stop. */
  readonly callers?: readonly Pick<Controller, 'stop' | 'stats'>[];
  /**
   * Called once when another process became the agent of the node. This one must end at once without changing
   * volumes, which belong to the other agent.
   */
  readonly onReplaced: (error: StatusError) => void;
}

/** Represents the id of an agent of an earlier release. */
const withoutId = 'of an earlier release, without an id';

/** Status fields of a node that its agent writes. */
type Told = Required<
  Pick<
    Node,
    | 'status'
    | 'version'
    | 'drivers'
    | 'runtimes'
    | 'lastHeartbeatAt'
    | 'conditions'
    | 'agentId'
    | 'capacity'
  >
>;

/** The result of a registration with an existing object. */
type Introduced =
  | { readonly type: 'introduced'; readonly uid: string }
  | { readonly type: 'held'; readonly agent: string };

/** The result of a heartbeat. */
type Beat =
  | { readonly type: 'told' }
  /** The object of this node was deleted or recreated since its registration. */
  | { readonly type: 'otherNode' }
  /** Another process is the agent of the node. */
  | { readonly type: 'held'; readonly agent: string };

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

  /**
   * Waits while another process is the agent of the node, and is heard of. A disk without room for it does not
   * keep the node from serving what it has: a heartbeat makes it known.
   */
  async start(signal?: AbortSignal): Promise<void> {
    await this.#whereRoomIs(() => this.#takeOver(signal));
    if (signal?.aborted) return;
    this.#beating = this.#keepBeating();
  }

  /**
   * Says that the node is gone, when nothing calls drivers for it any more: others may take its volumes then. When
   * something may go on, the node falls silent instead.
   */
  async stop(budgetMs: number): Promise<void> {
    this.#stop.abort();
    await this.#beating;
    const { callers = [], logger, name } = this.#options;
    await Promise.all(callers.map((caller) => caller.stop(budgetMs)));
    const isBusy = callers.some((caller) => caller.stats().active > 0);
    if (isBusy) {
      const message =
        'driver calls for volumes of the node may still run; the node is not reported as stopped';
      logger.warn(message, { node: name });
      return;
    }
    if (budgetMs <= 0) {
      // The agent has already warned of it.
      logger.info('the shutdown budget is spent; the node is not reported as stopped', {
        node: name,
      });
      return;
    }
    await this.#whereRoomIs(() => this.#beat('NotReady'));
  }

  async #takeOver(signal: AbortSignal | undefined): Promise<void> {
    const { clock, logger, name, policy } = this.#options;
    let agent = await this.#register();
    if (agent === undefined) return;
    const message =
      'another process is the agent of the node; this process waits until the other is stopped or silent';
    logger.warn(message, { node: name, agent });
    do {
      await sleep(clock, policy.heartbeatMs, signal);
      if (signal?.aborted) return;
      agent = await this.#register().catch((error: unknown) => {
        logger.warn('the node could not be registered, will retry', { error: messageOf(error) });
        return agent;
      });
    } while (agent !== undefined);
    logger.info('the previous agent of the node is silent; this process replaces it', {
      node: name,
    });
  }

  async #whereRoomIs(tell: () => Promise<unknown>): Promise<void> {
    try {
      await tell();
    } catch (error) {
      if (!hasCode(error, 'ResourceExhausted')) throw error;
      const { logger, name } = this.#options;
      logger.warn('the store has no space for the status of the node', {
        node: name,
        error: messageOf(error),
      });
    }
  }

  /** Undefined when this process is the agent of the node now, otherwise the id of the one that is. */
  async #register(): Promise<string | undefined> {
    // The uid of an object that was just created is known once it is found.
    const found = (await this.#introduce()) ?? (await this.#introduce());
    if (found?.type === 'held') return found.agent;
    this.#uid = found?.uid;
    return undefined;
  }

  /**
   * Makes this process the agent of the node, and adds what it knows of itself: all of it or, where another
   * process is the agent by then, nothing. Labels of others stay, also those written at this moment. Undefined when
   * that creates the object.
   */
  async #introduce(): Promise<Introduced | undefined> {
    const { store, name, labels, address } = this.#options;
    const told = await this.#told('Ready');
    return runTxn<Introduced | undefined>(store, async (txn) => {
      const current = await txn.get(nodes, { name });
      if (!current) {
        txn.create(nodes, { name, labels, address });
        return undefined;
      }
      const agent = this.#holderOf(current);
      if (agent !== undefined) return { type: 'held', agent };
      txn.update(nodes, { ...current, address, labels: { ...current.labels, ...labels } });
      txn.updateStatus(nodes, { name }, told(current));
      return { type: 'introduced', uid: current.metadata.uid };
    });
  }

  /**
   * Who is the agent of the node, other than this process, and is heard of. Nothing shows that an agent of an
   * earlier release, which writes no id, has ended.
   */
  #holderOf(node: Node): string | undefined {
    if (node.status !== 'Ready') return undefined;
    const isOfEarlierRelease = (node.agentId ?? '') === '';
    if (isOfEarlierRelease) return this.#options.life.hasEnded('') ? undefined : withoutId;
    return this.#otherAgentOf(node);
  }

  #otherAgentOf({ agentId }: Node): string | undefined {
    const { id, hasEnded } = this.#options.life;
    return agentId === undefined || agentId === '' || agentId === id || hasEnded(agentId)
      ? undefined
      : agentId;
  }

  /** The new status fields of the node. */
  async #told(status: NonNullable<Node['status']>): Promise<(current: Node) => Told> {
    const { capacity = machineCapacity(), clock, version, drivers, life } = this.#options;
    const runtimes = await this.#options.runtimes();
    const now = timestamp(clock);
    const ready = {
      type: 'Ready',
      status: status === 'Ready' ? 'True' : 'False',
      reason: status === 'Ready' ? 'AgentRunning' : 'AgentStopped',
      message: status === 'Ready' ? 'the agent sends heartbeats' : 'the agent was stopped',
    } as const;
    return ({ conditions }) => ({
      ...{ status, version, drivers, runtimes, lastHeartbeatAt: now, agentId: life.id },
      capacity,
      conditions: setCondition(conditions, ready, now),
    });
  }

  /** A process takes the place of a silent one only when it registers, never with a heartbeat. */
  async #beat(status: NonNullable<Node['status']>): Promise<Beat> {
    const { store, name } = this.#options;
    const told = await this.#told(status);
    return runTxn<Beat>(store, async (txn) => {
      const watching = ['conditions', 'agentId', 'status'] as const;
      const current = await txn.get(nodes, { name }, { watching });
      if (!current || current.metadata.uid !== this.#uid) return { type: 'otherNode' };
      const agent = this.#otherAgentOf(current);
      if (agent !== undefined) return { type: 'held', agent };
      txn.updateStatus(nodes, { name }, told(current));
      return { type: 'told' };
    });
  }

  async #keepBeating(): Promise<void> {
    const { clock, logger, name, policy } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await sleep(clock, policy.heartbeatMs, signal);
      if (signal.aborted) return;
      try {
        const beat = await this.#beat('Ready');
        if (beat.type === 'told') continue;
        if (beat.type === 'held') return this.#replaced(beat.agent);
        // Deleted, or created again while it is alive: its workloads and volumes stay.
        if (this.#uid !== undefined)
          logger.warn(
            'the node object is not the one that this agent registered; it registers again',
            {
              node: name,
            },
          );
        const agent = await this.#register();
        if (agent !== undefined) return this.#replaced(agent);
      } catch (error) {
        logger.warn('heartbeat failed, will retry', { error: messageOf(error) });
      }
    }
  }

  #replaced(agent: string): void {
    const { name, life, onReplaced } = this.#options;
    onReplaced(
      failedPrecondition(
        'AgentReplaced',
        `another process (${agent}) has replaced this one (${life.id}) as the agent of node ${name}, because this one was silent for too long; this process ends and does not change workloads and volumes. Run one agent per node, or use another node name and token for this one`,
      ),
    );
  }
}
