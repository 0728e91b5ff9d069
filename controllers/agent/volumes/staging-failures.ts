import { type MountOutcome, waiting } from './mount-outcome.js';

interface Failure {
  readonly claim: string;
  readonly outcome: Extract<MountOutcome, { type: 'waiting' }>;
  isReported: boolean;
}

/**
 * Failures of attempts to stage a volume, by attempt. An attempt that takes longer than its caller waits fails while
 * no caller waits for its outcome: it is reported, and counts for the backoff, before the next attempt begins.
 */
export class StagingFailures {
  readonly #failures = new Map<string, Failure>();

  /** Records and returns the outcome of an attempt once it has ended. */
  async recorded(id: string, claim: string, attempt: Promise<MountOutcome>): Promise<MountOutcome> {
    const outcome = await attempt;
    if (outcome.type === 'waiting' && outcome.retry)
      this.#failures.set(id, { claim, outcome, isReported: false });
    else this.#failures.delete(id);
    return outcome;
  }

  /** Records that the outcome of the last attempt is returned to its caller, and returns it. */
  reported(id: string, outcome: MountOutcome): MountOutcome {
    const failure = this.#failures.get(id);
    if (failure) failure.isReported = true;
    return outcome;
  }

  /** Returns the failure of an attempt that ended after its caller, once; else undefined. */
  unreported(id: string): MountOutcome | undefined {
    const failure = this.#failures.get(id);
    if (!failure || failure.isReported) return undefined;
    failure.isReported = true;
    return failure.outcome;
  }

  /** The outcome to show while an attempt is in progress: the failure of the last one, else `first`. */
  meanwhile(id: string, first: MountOutcome): MountOutcome {
    const failure = this.#failures.get(id);
    return failure ? waiting(failure.outcome.reason, failure.outcome.message) : first;
  }

  /** Forgets the failures of a claim that releases its volumes. */
  forget(claim: string): void {
    for (const [id, failure] of this.#failures)
      if (failure.claim === claim) this.#failures.delete(id);
  }
}
