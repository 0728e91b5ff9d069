import type { Clock } from 'kedge';
import type { ControllerPolicy } from '../../policy/policy.js';

/** Dependencies of {@link CallTimes}. */
export interface CallTimesOptions {
  readonly clock: Clock;
  readonly policy: ControllerPolicy;
}

/** Timeouts of work on volumes, and of waiting for it. */
export class CallTimes {
  readonly #options: CallTimesOptions;
  readonly #late: (claim: string) => void;

  /** @param late called with the claim of work that ended after its soft timeout */
  constructor(options: CallTimesOptions, late: (claim: string) => void) {
    this.#options = options;
    this.#late = late;
  }

  /**
   * Returns the result of the work, or undefined after the soft timeout. Then the work continues, and its claim is
   * notified at its end.
   */
  async withSoftTimeout<T>(work: Promise<T>, claim: string): Promise<T | undefined> {
    let late = false;
    const patience = new Promise<undefined>((resolve) => {
      const timer = this.#options.clock.setTimer(() => {
        late = true;
        resolve(undefined);
      }, this.#options.policy.volumeSoftTimeoutMs);
      const end = (): void => {
        timer.cancel();
        if (late) this.#late(claim);
      };
      work.then(end, end);
    });
    return Promise.race([work, patience]);
  }

  /**
   * Runs driver calls with a signal that aborts at their own deadline. The reconcile that requested them may end
   * earlier.
   */
  async limited<T>(calls: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const { clock, policy } = this.#options;
    const timer = clock.setTimer(() => limit.abort(), policy.volumeTimeoutMs);
    try {
      return await calls(limit.signal);
    } finally {
      timer.cancel();
    }
  }
}
