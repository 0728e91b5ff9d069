import { type Logger, messageOf, StatusError, untilAborted } from '../base/index.js';
import type { StopBudget } from './stop-budget.js';

/** A controller or a runnable that a manager starts and stops. */
export interface PartWork {
  /** Role and name: `controller lamp`. */
  readonly name: string;
  readonly needsLeaderElection: boolean;
  /**
   * A controller: its start waits for caches, and `stop` must be called even if `start` was not called or has not
   * returned.
   */
  readonly isController: boolean;
  /** Describes what the start of the part waits for now. */
  readonly waitingFor: () => readonly string[];
  start(signal: AbortSignal): Promise<void>;
  stop(budgetMs: number): Promise<void>;
}

type Phase =
  | { readonly state: 'waiting' }
  | { readonly state: 'starting'; readonly starting: Promise<void> }
  | { readonly state: 'running' }
  | { readonly state: 'failed' }
  | { readonly state: 'stopping' }
  | { readonly state: 'stopped' };

/** The error of a start with the name of the part. It keeps code and reason. */
function startError(name: string, cause: unknown): StatusError {
  const message = `${name} could not be started: ${messageOf(cause)}`;
  if (!(cause instanceof StatusError))
    return new StatusError({ code: 'Unknown', reason: 'StartFailed', message, cause });
  const { code, reason, violations, retryAfterMs } = cause;
  const retry = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new StatusError({ code, reason, message, violations, ...retry, cause });
}

/**
 * The life cycle of a part: waiting, starting, running, stopping, stopped; `failed` when its start rejected or
 * threw. `start` and `stop` are each called at most once, and an abandoned start that resolves later is followed by
 * a stop.
 */
export class Part {
  readonly name: string;
  readonly needsLeaderElection: boolean;
  readonly #work: PartWork;
  readonly #logger: Logger;
  #phase: Phase = { state: 'waiting' };
  #failure: string | undefined;
  #stopping: Promise<void> | undefined;

  constructor(work: PartWork, logger: Logger) {
    this.name = work.name;
    this.needsLeaderElection = work.needsLeaderElection;
    this.#work = work;
    this.#logger = logger;
  }

  get state(): Phase['state'] {
    return this.#phase.state;
  }

  /** The error of the start of this part; undefined if the part was never `failed`. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get isController(): boolean {
    return this.#work.isController;
  }

  /** The name of this part, and what its start waits for. */
  get describedStart(): string {
    const waitingFor = this.#work.waitingFor();
    return waitingFor.length === 0 ? this.name : `${this.name} (${waitingFor.join(', ')})`;
  }

  /**
   * Starts a waiting part. Rejects if it can't be started, with an error that names it, or as soon as `signal`
   * aborts.
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.state !== 'waiting') return;
    this.#phase = { state: 'starting', starting: Promise.resolve() };
    // The phase is set first, because the start may read it. An async function turns a synchronous throw into a
    // rejection.
    const starting = (async () => this.#work.start(signal))();
    this.#phase = { state: 'starting', starting };
    starting.then(
      () => {
        if (this.state === 'starting') this.#phase = { state: 'running' };
      },
      (error: unknown) => {
        if (this.state !== 'starting') return;
        this.#phase = { state: 'failed' };
        this.#failure = messageOf(error);
      },
    );
    try {
      await untilAborted(starting, signal);
    } catch (error) {
      throw this.#failure === undefined ? error : startError(this.name, error);
    }
  }

  /** Stops this part in any state. Errors are noted in the budget. A second call waits for the first. */
  stop(budget: StopBudget): Promise<void> {
    this.#stopping ??= this.#end(budget);
    return this.#stopping;
  }

  async #end(budget: StopBudget): Promise<void> {
    const phase = this.#phase;
    this.#phase = { state: 'stopping' };
    if (await this.#mustStop(phase, budget)) await this.#stop(budget);
    this.#phase = { state: 'stopped' };
  }

  /** Whether the part must be stopped; a start in progress is awaited first. */
  async #mustStop(phase: Phase, budget: StopBudget): Promise<boolean> {
    if (phase.state === 'running' || this.#work.isController) return true;
    if (phase.state !== 'starting') return false;
    const outcome = await budget.wait(this.name, 'its start', phase.starting);
    if (outcome.type === 'late') this.#stopWhenStarted(phase.starting);
    return outcome.type === 'done';
  }

  #stopWhenStarted(starting: Promise<void>): void {
    starting
      .then(() => this.#work.stop(0))
      .catch((error: unknown) =>
        this.#logger.warn('an abandoned start, or the stop after it, failed', {
          part: this.name,
          error: messageOf(error),
        }),
      );
  }

  async #stop(budget: StopBudget): Promise<void> {
    const stopping = (async () => this.#work.stop(budget.partMs))();
    const outcome = await budget.wait(this.name, 'its stop', stopping);
    if (outcome.type !== 'failed') return;
    this.#logger.error('stop failed', { part: this.name, error: messageOf(outcome.error) });
    budget.failed(this.name, outcome.error);
  }
}
