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

/** Stands in log lines for the id of an agent of an earlier release, which writes none. */
const withoutId = 'of an earlier release, without an id';

/** Status fields of a node that its agent writes. */
type Report = Required<
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

/** The result of a registration at an existing node object. */
type Introduced =
  /** This process is the agent of the node now. */
  | { readonly type: 'introduced'; readonly uid: string }
  /** Another live process is the agent of the node. */
  | { readonly type: 'held'; readonly agent: string };

type Beat =
  | { readonly type: 'reported' }
  /** The node object was deleted or recreated since the registration, or this process has not registered it yet. */
  | { readonly type: 'otherNode' }
  /** Another process is the agent of the node. */
  | { readonly type: 'held'; readonly agent: string };

/** Registers this node and sends its heartbeats. */
export class NodeRegistration implements Runnable {
  readonly name = 'node registration';
  readonly #options: NodeRegistrationOptions;
  readonly #stop = new AbortController();
  #beating: Promise<void> | undefined;
  /** Uid of the node object at registration; undefined until then. */
  #uid: string | undefined;

  constructor(options: NodeRegistrationOptions) {
    this.#options = options;
  }

  /**
   * Registers the node and starts its heartbeats. Waits while another live process is the agent of the node. If the
   * store has no space for the registration, the node starts anyway and registers with a later heartbeat.
   */
  async start(signal?: AbortSignal): Promise<void> {
    await this.#unlessFull(() => this.#takeOver(signal));
    if (signal?.aborted) return;
    this.#beating = this.#keepBeating();
  }

  /**
   * Reports the stop of the node once no driver calls for it are running, so that other nodes may attach its volumes.
   * If a call may still run, or the budget is spent, sends no report: the node becomes silent instead.
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
      // The agent has already logged a warning.
      logger.info('the shutdown budget is spent; the node is not reported as stopped', {
        node: name,
      });
      return;
    }
    await this.#unlessFull(() => this.#beat('NotReady'));
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
    logger.info('the node has no other live agent any more; this process is its agent', {
      node: name,
    });
  }

  async #unlessFull(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!hasCode(error, 'ResourceExhausted')) throw error;
      const { logger, name } = this.#options;
      logger.warn('the store has no space for the status of the node', {
        node: name,
        error: messageOf(error),
      });
    }
  }

  /** Registers the node. Returns the id of another live agent; undefined if this process is the agent now. */
  async #register(): Promise<string | undefined> {
    // The second call finds the object that the first one created, with its uid.
    const found = (await this.#introduce()) ?? (await this.#introduce());
    if (found?.type === 'held') return found.agent;
    this.#uid = found?.uid;
    return undefined;
  }

  /**
   * Creates the node object, or takes over an existing one as its agent. Does not change the object if another process
   * has become the agent. Labels of other writers are kept. Undefined if the object was created.
   */
  async #introduce(): Promise<Introduced | undefined> {
    const { store, name, labels, address } = this.#options;
    const report = await this.#report('Ready');
    return runTxn<Introduced | undefined>(store, async (txn) => {
      const current = await txn.get(nodes, { name });
      if (!current) {
        txn.create(nodes, { name, labels, address });
        return undefined;
      }
      const agent = this.#holderOf(current);
      if (agent !== undefined) return { type: 'held', agent };
      txn.update(nodes, { ...current, address, labels: { ...current.labels, ...labels } });
      txn.updateStatus(nodes, { name }, report(current));
      return { type: 'introduced', uid: current.metadata.uid };
    });
  }

  /**
   * Returns the id of another live agent of the node; undefined if there is none. An agent of an earlier release writes
   * no id, so its end can't be detected.
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

  async #report(status: NonNullable<Node['status']>): Promise<(current: Node) => Report> {
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

  /** A heartbeat never replaces a silent agent; only a registration does. */
  async #beat(status: NonNullable<Node['status']>): Promise<Beat> {
    const { store, name } = this.#options;
    const report = await this.#report(status);
    return runTxn<Beat>(store, async (txn) => {
      const watching = ['conditions', 'agentId', 'status'] as const;
      const current = await txn.get(nodes, { name }, { watching });
      if (!current || current.metadata.uid !== this.#uid) return { type: 'otherNode' };
      const agent = this.#otherAgentOf(current);
      if (agent !== undefined) return { type: 'held', agent };
      txn.updateStatus(nodes, { name }, report(current));
      return { type: 'reported' };
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
        if (beat.type === 'reported') continue;
        if (beat.type === 'held') return this.#replaced(beat.agent);
        // The object was deleted or recreated while the agent is running: workloads and volumes are kept.
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
        `another process (${agent}) has replaced this one (${life.id}) as the agent of node ${name}: this one was silent for too long, or the other was started with the same node name; this process ends and does not change workloads and volumes. Run one agent per node, or use another node name and token for this one`,
      ),
    );
  }
}
