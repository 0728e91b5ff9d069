import { type Clock, failedPrecondition, type StatusCode, StatusError, type Timer } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';

/** Maximum lengths of a failure's message and reason, in characters: an answer's trailer has both. */
const messageCharactersMax = 4_096;
const reasonCharactersMax = 100;

/**
 * Time until the first answer of an agent: longer than that in which a command must start there, so that the agent's
 * own error comes first. Streams of callers have no deadline.
 */
const firstAnswerMs = 45_000;

/** How long a caller waits for answers. */
export interface AnswerPatience {
  /**
   * Time until the first answer. It starts again with each message for the agent that its stream takes. Default 45 s.
   */
  readonly firstMs?: number;
  /**
   * Time until each further answer once the agent has reported `begun`; before that report `firstMs` is the time until
   * each answer. Default: no limit after the first answer.
   */
  readonly furtherMs?: number;
}

/** The error of a request whose agent disconnected. */
export function agentLost(node: string): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'AgentLost',
    message: `the connection to the agent of node ${node} was lost during the request; retry once the agent is connected again`,
  });
}

/**
 * The error of a request that a connected agent does not answer in time. A retry fails until an operator acts, so the
 * code is not DeadlineExceeded, which clients repeat.
 */
export function agentSilent({ node, remedy }: AgentCallPlace, ms: number): StatusError {
  return failedPrecondition(
    'AgentSilent',
    `the agent of node ${node} did not answer within ${Math.ceil(ms / 1_000)} s, although it is connected: it hangs or is overloaded; restart it on that node (end it with kill -9, which keeps its workloads running), or on node ${node}, ${remedy}`,
    { kind: 'Node', name: node },
  );
}

/**
 * Codes of an agent's error that the client receives unchanged. Others become Unknown: the client would take
 * Unauthenticated, for example, for an error of its own call.
 */
const reportable: readonly StatusCode[] = [
  ...(['InvalidArgument', 'NotFound', 'FailedPrecondition', 'Aborted', 'Cancelled'] as const),
  ...(['ResourceExhausted', 'DeadlineExceeded', 'Unavailable', 'Internal'] as const),
];

function failureOf(failure: JsonObject): StatusError {
  const named = textOf(failure, 'code');
  return new StatusError({
    code: reportable.find((code) => code === named) ?? 'Unknown',
    reason: textOf(failure, 'reason').slice(0, reasonCharactersMax) || 'Unknown',
    message: textOf(failure, 'message').slice(0, messageCharactersMax),
  });
}

/** The node of a request. */
export interface AgentCallPlace {
  readonly node: string;
  /** The command for that node, for errors. */
  readonly remedy: string;
}

/** A message for the agent, with the function to call once it was taken. */
interface Outgoing {
  readonly message: JsonObject;
  readonly taken: () => void;
}

/**
 * A request to an agent and the stream over which the agent answers it. One message with data for the agent is buffered
 * at a time, with signals and sizes of a terminal beside it. Answers are read only on demand: a slow side blocks the other.
 */
export class AgentCall {
  readonly #place: AgentCallPlace;
  readonly #clock: Clock;
  readonly #outgoing: Outgoing[] = [];
  readonly #ended = new AbortController();
  #answers: AsyncIterator<JsonObject> | undefined;
  #opened: () => void = () => undefined;
  #wake: () => void = () => undefined;
  /** Called when the stream took a message for the agent. */
  #onTaken: () => void = () => undefined;
  /** Resolves when the agent opened the stream of its answers, or the call ended. */
  readonly opened: Promise<void>;

  /** @param opening the message with the request */
  constructor(place: AgentCallPlace, opening: JsonObject, clock: Clock) {
    this.#place = place;
    this.#clock = clock;
    this.#outgoing.push({ message: opening, taken: () => undefined });
    this.opened = new Promise((resolve) => {
      this.#opened = resolve;
    });
  }

  get node(): string {
    return this.#place.node;
  }

  /** Aborts when the call ended: the caller closed it, or the agent disconnected. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Whether the agent opened the stream of its answers. */
  get isOpen(): boolean {
    return this.#answers !== undefined;
  }

  /** Sends input. Resolves when the stream took it, or the call ended. */
  send(message: JsonObject): Promise<void> {
    if (this.ended.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#outgoing.push({ message, taken: resolve });
      this.#wake();
    });
  }

  /**
   * The answers of the agent. The caller ends the iteration at the last one: an agent that closes its stream counts as
   * disconnected. A call without an answer in time ends.
   * @throws StatusError that the agent reported; Unavailable (AgentLost) if it disconnected; FailedPrecondition
   * (AgentSilent) without an answer in time
   */
  async *answers({
    firstMs = firstAnswerMs,
    furtherMs,
  }: AnswerPatience = {}): AsyncIterable<JsonObject> {
    let waitMs: number | undefined = firstMs;
    try {
      for (;;) {
        const answer = await this.#nextWithin(waitMs);
        if (answer === 'silent') throw agentSilent(this.#place, waitMs ?? 0);
        if (!answer) throw agentLost(this.node);
        if (isJsonObject(answer.failure)) throw failureOf(answer.failure);
        if (furtherMs === undefined) waitMs = undefined;
        // An agent of an earlier release reports no progress of its own.
        else if (answer.begun === true) waitMs = furtherMs;
        yield answer;
      }
    } finally {
      this.#onTaken = () => undefined;
    }
  }

  /** The next answer; undefined if the call ended. `silent`: there was none in time, and the call was ended. */
  async #nextWithin(ms: number | undefined): Promise<JsonObject | 'silent' | undefined> {
    if (ms === undefined) return this.#next();
    let isSilent = false;
    const begin = (): Timer =>
      this.#clock.setTimer(() => {
        isSilent = true;
        this.close();
      }, ms);
    let silence = begin();
    this.#onTaken = () => {
      silence.cancel();
      silence = begin();
    };
    try {
      const answer = await this.#next();
      return isSilent ? 'silent' : answer;
    } finally {
      this.#onTaken = () => undefined;
      silence.cancel();
    }
  }

  /** Ends the call. The agent then ends its work for it. */
  close(): void {
    if (this.ended.aborted) return;
    this.#ended.abort();
    this.#opened();
    this.#wake();
    for (const { taken } of this.#outgoing.splice(0)) taken();
  }

  /**
   * The messages for the agent, as the stream over which it answers takes them.
   * @param answers the messages of the agent
   * @param signal aborts when the agent disconnects
   */
  async *serve(answers: AsyncIterable<JsonObject>, signal: AbortSignal): AsyncIterable<JsonObject> {
    this.#answers = answers[Symbol.asyncIterator]();
    this.#opened();
    const gone = (): void => this.close();
    signal.addEventListener('abort', gone, { once: true });
    if (signal.aborted) gone();
    try {
      while (!this.ended.aborted) {
        const next = this.#outgoing.shift();
        if (next) {
          // Also when the stream ends here, or its sender would wait forever.
          try {
            yield next.message;
          } finally {
            next.taken();
          }
          this.#onTaken();
        } else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      signal.removeEventListener('abort', gone);
      this.close();
    }
  }

  /** The next answer; undefined if the call ended or the agent disconnected. */
  #next(): Promise<JsonObject | undefined> {
    const { ended } = this;
    const answers = this.#answers;
    if (!answers || ended.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      // One listener per answer, removed after it: a race with one promise would keep memory for each answer.
      const finish = (answer: JsonObject | undefined): void => {
        ended.removeEventListener('abort', lost);
        resolve(answer);
      };
      const lost = (): void => finish(undefined);
      ended.addEventListener('abort', lost, { once: true });
      answers.next().then(
        (result) => finish(result.done === true ? undefined : result.value),
        // The stream broke.
        lost,
      );
    });
  }
}
