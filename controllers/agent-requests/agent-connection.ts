import {
  backoffDelayMs,
  linkSignals,
  type Logger,
  messageOf,
  type Random,
  type Runnable,
  sleep,
} from 'kedge';
import type { ApiClient } from 'kedge/client';
import { type JsonObject, textOf } from 'kedge/rpc';
import { type AnswerSources, answersTo } from './answers.js';

/** Options of {@link AgentConnection}. */
export interface AgentConnectionOptions extends AnswerSources {
  /** A client of the server's API with the token of the node: `kedgeClient(...).api`. */
  readonly calls: Pick<ApiClient, 'duplex'>;
  /** The id with which this process registered the node: `AgentLife.id`. */
  readonly agentId: string;
  readonly random: Random;
  readonly logger: Logger;
}

/** Delay before this agent connects again. */
const backoff = { baseMs: 200, maxMs: 5_000, jitter: 0.5 };
/** A connection that lasted this long resets the backoff. */
const stableMs = 10_000;
/** Time in which the server must send a request that it announced, and end one that was answered. */
const requestMs = 10_000;
/** Maximum concurrent requests: those that the server sends at most, and some that are ending. */
const requestsMax = 240;

interface Serving {
  readonly id: string;
  /** The first message of the server. */
  readonly request: Promise<IteratorResult<JsonObject>>;
  readonly gone: AbortController;
  /** The further messages of the server. */
  readonly input: () => AsyncIterator<JsonObject>;
  /** Called after the last answer. */
  readonly finish: () => void;
}

/**
 * Connects the agent of a node to a server in another process, and answers the server's requests: commands, output and
 * images. It opens all connections itself, so it needs no port. Start it after the registration of the node.
 *
 * Guarantees: it connects again with a growing delay of at most 5 s. A request ends with its connection; its command is
 * then killed.
 *
 * @example
 * const client = kedgeClient({ server, token });
 * manager.addRunnable(new AgentConnection({ ...common, calls: client.api, agentId: life.id, runtimes, images }));
 */
export class AgentConnection implements Runnable {
  readonly name = 'agent connection';
  readonly #options: AgentConnectionOptions;
  readonly #stop = new AbortController();
  readonly #requests = new Set<Promise<void>>();
  /** Ends the requests that are being answered, by id. */
  readonly #ends = new Map<string, AbortController>();
  #connecting: Promise<void> | undefined;

  constructor(options: AgentConnectionOptions) {
    this.#options = options;
  }

  /** Resolves at once: the connection is established in the background. */
  start(): Promise<void> {
    this.#connecting = this.#keepConnected();
    return Promise.resolve();
  }

  /** Ends the connection and all requests. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#connecting;
    await Promise.all(this.#requests);
  }

  async #keepConnected(): Promise<void> {
    const { clock, random, logger, node } = this.#options;
    const { signal } = this.#stop;
    let logged = '';
    for (let failures = 0; !signal.aborted; failures += 1) {
      const begun = clock.monotonic();
      const why = await this.#connection(() => {
        if (logged !== '') logger.info('the agent is connected to the server again', { node });
        logged = '';
      });
      if (signal.aborted) return;
      if (clock.monotonic() - begun >= stableMs) failures = 0;
      if (why !== logged)
        logger.warn('the agent is not connected to the server for requests, will retry', {
          node,
          error: why,
        });
      logged = why;
      await sleep(clock, backoffDelayMs(backoff, failures, random), signal);
    }
  }

  /** Serves requests until the connection ends; returns the cause. */
  async #connection(onConnected: () => void): Promise<string> {
    const { calls, node, agentId } = this.#options;
    // eslint-disable-next-line @typescript-eslint/require-await -- a stream of one message
    const start = async function* (): AsyncIterable<JsonObject> {
      yield { start: { node, agentId } };
    };
    try {
      const announced = calls.duplex('AgentService.Connect', start(), this.#stop.signal);
      for await (const call of announced) {
        const id = textOf(call, 'id');
        if (id === '') onConnected();
        else if (call.ended === true) this.#ends.get(id)?.abort();
        else this.#serve(id);
      }
      return 'the server ended the connection';
    } catch (error) {
      return messageOf(error);
    } finally {
      // Without the connection no message reports their end.
      for (const end of this.#ends.values()) end.abort();
    }
  }

  /** Answers a request in the background. A request beyond the limit is not answered: its caller gets an error. */
  #serve(id: string): void {
    if (this.#requests.size >= requestsMax) return;
    // Announced again.
    if (this.#ends.get(id)?.signal.aborted === false) return;
    const serving = this.#answer(id)
      .catch((error: unknown) => {
        const { logger, node } = this.#options;
        logger.debug('a request of the server ended', { node, error: messageOf(error) });
      })
      .finally(() => this.#requests.delete(serving));
    this.#requests.add(serving);
  }

  async #answer(id: string): Promise<void> {
    const { calls, clock } = this.#options;
    const gone = new AbortController();
    this.#ends.set(id, gone);
    using link = linkSignals(gone.signal, this.#stop.signal);
    const stop = (): void => gone.abort();
    this.#stop.signal.addEventListener('abort', stop, { once: true });
    let begin: (request: IteratorResult<JsonObject>) => void = () => undefined;
    const request = new Promise<IteratorResult<JsonObject>>((resolve) => {
      begin = resolve;
    });
    let finish: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const answers = this.#answers({ id, request, gone, input: () => iterator, finish });
    const iterator = calls
      .duplex('AgentService.Answer', answers, link.signal)
      [Symbol.asyncIterator]();
    const limit = clock.setTimer(stop, requestMs);
    try {
      const first = await iterator.next();
      limit.cancel();
      begin(first);
      if (first.done === true) return;
      await answered;
      // The server ends the call when it has the last answer. Ending it here could drop that answer.
      const late = clock.setTimer(stop, requestMs);
      while ((await iterator.next()).done !== true);
      late.cancel();
    } finally {
      limit.cancel();
      gone.abort();
      if (this.#ends.get(id) === gone) this.#ends.delete(id);
      this.#stop.signal.removeEventListener('abort', stop);
    }
  }

  /** The messages of the agent in the stream of a request. */
  async *#answers({ id, request, gone, input, finish }: Serving): AsyncIterable<JsonObject> {
    try {
      yield { start: { node: this.#options.node, id } };
      const first = await request;
      if (first.done === true) return;
      const further = { [Symbol.asyncIterator]: input };
      yield* answersTo(this.#options, { request: first.value, input: further, gone });
    } finally {
      finish();
    }
  }
}
