import type { Clock } from 'kedge';
import type { ControllerPolicy } from '../../policy/policy.js';

/** Ports of {@link CallTimes}. */
export interface CallTimesOptions {
  readonly clock: Clock;
  readonly policy: ControllerPolicy;
}

/** How long work for volumes may take, and how long it is waited for. */
export class CallTimes {
  readonly #options: CallTimesOptions;
  readonly #late: (claim: string) => void;

  /** @param late is called with the claim of work that ended after it was waited for */
  constructor(options: CallTimesOptions, late: (claim: string) => void) {
    this.#options = options;
    this.#late = late;
  }

  /** The work's result, or undefined when it takes longer: it goes on then, and its claim is told at its end. */
  async patiently<T>(work: Promise<T>, claim: string): Promise<T | undefined> {
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

  /** Runs a driver's calls with a deadline of their own: the reconcile that asked may be over by then. */
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
