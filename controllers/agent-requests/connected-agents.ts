import {
  type Clock,
  failedPrecondition,
  type ObjectStore,
  type Random,
  sleep,
  StatusError,
  systemRandom,
} from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { nodes } from '../node/kind.js';
import { AgentCall, agentSilent } from './agent-call.js';

/** Dependencies of {@link ConnectedAgents}. */
export interface ConnectedAgentsOptions {
  readonly store: Pick<ObjectStore, 'get'>;
  readonly clock: Clock;
  /** Source of the ids of requests. Default: the system's. */
  readonly random?: Random;
}

/**
 * The topic of a request. Each type has its own limit of concurrent requests per node, so that followed logs prevent no
 * commands.
 */
export type RequestType = 'exec' | 'log' | 'image';

/** Maximum concurrent requests of a node. Their sum is below the calls that one connection may have (256). */
const requestsMax: Readonly<Record<RequestType, number>> = { exec: 96, log: 96, image: 16 };
/** Time in which a connected agent must open the stream of its answers. */
const answerMs = 10_000;
/** Time in which the agent of a Ready node must connect, for example after a restart of the server. */
const connectMs = 10_000;

/** A request to a node. */
export interface NodeRequest {
  readonly node: string;
  readonly type: RequestType;
  /** The message with the request. */
  readonly opening: JsonObject;
  /** For errors: the requested data, such as "the images of node far", and the command for it on that node. */
  readonly what: string;
  readonly remedy: string;
  readonly signal: AbortSignal;
}

interface Connection {
  readonly agentId: string;
  /** Messages to send: requests, and those that ended. */
  readonly messages: { readonly id: string; readonly ended?: true }[];
  readonly ended: AbortController;
  wake: () => void;
}

/** The agents of other nodes that are connected to this server, and the requests to them. */
export class ConnectedAgents {
  readonly #options: ConnectedAgentsOptions;
  readonly #random: Random;
  readonly #connections = new Map<string, Connection>();
  /** Requests whose agent has not opened the stream of its answers, by id. */
  readonly #announced = new Map<string, AgentCall>();
  readonly #open = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  constructor(options: ConnectedAgentsOptions) {
    this.#options = options;
    this.#random = options.random ?? systemRandom;
  }

  /**
   * The requests to an agent while it is connected: first a message without an id.
   * @throws StatusError FailedPrecondition (OtherAgent) unless `agentId` is the agent of the node; Aborted
   * (ConnectedAgain) once it connects again
   */
  async *connect(node: string, agentId: string, signal: AbortSignal): AsyncIterable<JsonObject> {
    await this.#requireAgent(node, agentId);
    this.#connections.get(node)?.ended.abort();
    const connection: Connection = {
      agentId,
      // Requests whose announcement may have been lost with the previous connection.
      messages: [...this.#announced].flatMap(([id, call]) => (call.node === node ? [{ id }] : [])),
      ...{ ended: new AbortController(), wake: () => undefined },
    };
    const { ended } = connection;
    const wake = (): void => connection.wake();
    this.#connections.set(node, connection);
    for (const connected of this.#waiting) connected();
    signal.addEventListener('abort', wake, { once: true });
    ended.signal.addEventListener('abort', wake, { once: true });
    try {
      yield { id: '' };
      while (!signal.aborted && !ended.signal.aborted) {
        const message = connection.messages.shift();
        if (message) yield { ...message };
        else
          await new Promise<void>((resolve) => {
            connection.wake = resolve;
          });
      }
      if (ended.signal.aborted)
        throw new StatusError({
          code: 'Aborted',
          reason: 'ConnectedAgain',
          message: `the agent of node ${node} has connected again`,
        });
    } finally {
      signal.removeEventListener('abort', wake);
      if (this.#connections.get(node) === connection) this.#connections.delete(node);
    }
  }

  /**
   * The request with an id and its further input, for the agent that answers it.
   * @throws StatusError NotFound for a request of another node, and for one that has ended or was answered
   */
  async *answer(
    node: string,
    id: string,
    answers: AsyncIterable<JsonObject>,
    signal: AbortSignal,
  ): AsyncIterable<JsonObject> {
    const call = this.#announced.get(id);
    if (call?.node !== node)
      throw new StatusError({
        code: 'NotFound',
        reason: 'NotFound',
        message: `node ${node} has no request ${JSON.stringify(id.slice(0, 40))}; it may have ended`,
      });
    this.#announced.delete(id);
    yield* call.serve(answers, signal);
  }

  /**
   * Sends a request to the agent of a node. The caller closes the call.
   * @throws StatusError FailedPrecondition (AgentNotConnected, AgentSilent) with the remedy, ResourceExhausted (AgentBusy)
   */
  async open(request: NodeRequest): Promise<AgentCall> {
    const { node, type, opening, signal } = request;
    const connection = await this.#connectionOf(request);
    const key = `${type} ${node}`;
    const count = this.#open.get(key) ?? 0;
    if (count >= requestsMax[type])
      throw new StatusError({
        code: 'ResourceExhausted',
        reason: 'AgentBusy',
        message: `${requestsMax[type]} such requests to node ${node} are running, which is the limit; end some, or retry later`,
        retryAfterMs: 5_000,
      });
    this.#open.set(key, count + 1);
    const id = this.#random.uuid();
    const call = new AgentCall(request, opening, this.#options.clock);
    const end = (): void => call.close();
    signal.addEventListener('abort', end, { once: true });
    call.ended.addEventListener('abort', () => {
      signal.removeEventListener('abort', end);
      this.#announced.delete(id);
      this.#announceEnd(node, id);
      const left = (this.#open.get(key) ?? 1) - 1;
      if (left > 0) this.#open.set(key, left);
      else this.#open.delete(key);
    });
    this.#announced.set(id, call);
    connection.messages.push({ id });
    connection.wake();
    if (signal.aborted) end();
    const { clock } = this.#options;
    const late = clock.setTimer(() => {
      if (!call.isOpen) call.close();
    }, answerMs);
    await call.opened;
    late.cancel();
    if (call.isOpen || signal.aborted) return call;
    if (this.#connections.has(node)) throw agentSilent(request, answerMs);
    throw notConnected(request, 'disconnected before it answered');
  }

  /** Resolves when the agent of a node is connected, or the signal aborts. */
  async connected(node: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      let wake: () => void = () => undefined;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      // Before the check, so that no connection between the check and the wait is missed.
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      try {
        if (signal.aborted || (await this.#current(node))) return;
        await woken;
      } finally {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
      }
    }
  }

  /** Announces the end of a request to its agent, or drops its announcement if that was not sent. */
  #announceEnd(node: string, id: string): void {
    const connection = this.#connections.get(node);
    if (!connection) return;
    const { messages } = connection;
    const at = messages.findIndex((message) => message.id === id);
    if (at >= 0) messages.splice(at, 1);
    else messages.push({ id, ended: true });
    connection.wake();
  }

  async #connectionOf(request: NodeRequest): Promise<Connection> {
    const { node, signal } = request;
    const found = await this.#current(node);
    if (found) return found;
    const { store, clock } = this.#options;
    const stored = await store.get(nodes, { name: node });
    // An agent that sends heartbeats connects again soon.
    if (stored?.status === 'Ready') {
      const over = new AbortController();
      const stop = (): void => over.abort();
      signal.addEventListener('abort', stop, { once: true });
      void sleep(clock, connectMs, over.signal).then(stop);
      await this.connected(node, over.signal);
      stop();
      signal.removeEventListener('abort', stop);
      const late = await this.#current(node);
      if (late) return late;
    }
    const why = stored?.status === 'Ready' ? '' : ', and the node is not Ready';
    throw notConnected(request, `is not connected to this server${why}`);
  }

  /** The connection of the agent of a node; undefined without one, and for one of an agent that was replaced. */
  async #current(node: string): Promise<Connection | undefined> {
    if (!this.#connections.has(node)) return undefined;
    const stored = await this.#options.store.get(nodes, { name: node });
    const connection = this.#connections.get(node);
    return connection && stored?.agentId === connection.agentId ? connection : undefined;
  }

  async #requireAgent(node: string, agentId: string): Promise<void> {
    const stored = await this.#options.store.get(nodes, { name: node });
    if (agentId !== '' && stored?.agentId === agentId) return;
    throw failedPrecondition(
      'OtherAgent',
      `process ${JSON.stringify(agentId.slice(0, 80))} is not the agent of node ${node}; register the node before connecting`,
      { kind: 'Node', name: node },
    );
  }
}

/** The error of a request whose agent can't be reached. */
function notConnected({ node, what, remedy }: NodeRequest, why: string): StatusError {
  return failedPrecondition(
    'AgentNotConnected',
    `${what} can't be reached: the agent of node ${node} ${why}; start the agent, or on node ${node}, ${remedy}`,
    { kind: 'Node', name: node },
  );
}
