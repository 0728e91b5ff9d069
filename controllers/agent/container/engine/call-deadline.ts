import type { Clock, Timer } from 'kedge';
import { EngineError } from './engine-error.js';
import { engineStuck } from '../../../messages/starts.js';

/** Ends a call at its deadline or when its caller's signal aborts, whichever is first. */
export class CallDeadline {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #what: string;
  readonly #caller: AbortSignal;
  readonly #onAbort: () => void;
  #timer: Timer | undefined;

  /** @param what the call as named in errors */
  constructor(clock: Clock, what: string, caller: AbortSignal) {
    this.#clock = clock;
    this.#what = what;
    this.#caller = caller;
    this.#onAbort = () => {
      this.#timer?.cancel();
      const message = `${what} was cancelled by its caller`;
      this.#controller.abort(new EngineError('Cancelled', message, { cause: caller.reason }));
    };
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The error with which the deadline or the caller ended the call; undefined if neither did. */
  failure(): EngineError | undefined {
    return this.signal.aborted ? (this.signal.reason as EngineError) : undefined;
  }

  /** Restarts the deadline with this many milliseconds; undefined removes it. */
  within(ms: number | undefined): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (ms === undefined || this.signal.aborted) return;
    this.#timer = this.#clock.setTimer(() => {
      const message = `${engineStuck.format()} with ${this.#what} for ${ms / 1_000} s`;
      this.#controller.abort(new EngineError('Timeout', message));
    }, ms);
  }

  /** Cancels the deadline and stops listening to the caller's signal. */
  over(): void {
    this.#timer?.cancel();
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
