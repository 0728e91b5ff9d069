import type { Clock, Random, Result } from 'kedge';
import type { ControllerPolicy } from '../policy/policy.js';

/** Dependencies of {@link Probes}. */
export interface ProbeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly policy: Pick<ControllerPolicy, 'existenceProbeMs'>;
}

/** Time within which an object that this process did not provision is probed first, milliseconds. */
const firstWithinMs = 10_000;

/** A requeue that is not stored: each process schedules the probes of all objects again. */
function unstored(delayMs: number): Result {
  return { type: 'requeueAfter', delayMs, isStored: false };
}

/** The next existence probe of each provisioned object, by uid. Kept in memory only. */
export class Probes {
  readonly #options: ProbeOptions;
  /** Time of the next probe by uid, monotonic milliseconds. */
  readonly #at = new Map<string, number>();

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /** Whether a probe of the object is scheduled or due. */
  has(uid: string): boolean {
    return this.#at.has(uid);
  }

  /** Whether the scheduled time of a probe has passed; false without one. */
  isDue(uid: string): boolean {
    const at = this.#at.get(uid);
    return at !== undefined && at <= this.#options.clock.monotonic();
  }

  /** Requeues at the next probe. Schedules one if there is none, or if its time has passed. */
  untilNext(uid: string): Result {
    const { clock, random, policy } = this.#options;
    const now = clock.monotonic();
    let at = this.#at.get(uid);
    if (at === undefined || at <= now) {
      at = now + policy.existenceProbeMs * (0.8 + 0.4 * random.next());
      this.#at.set(uid, at);
    }
    return unstored(at - now);
  }

  /**
   * Schedules the first probe of an object that this process did not provision, within 10 seconds. Requeues at a probe
   * that is scheduled already.
   */
  untilFirst(uid: string): Result {
    if (this.#at.has(uid)) return this.untilNext(uid);
    return this.in(uid, firstWithinMs * (0.1 + 0.9 * this.#options.random.next()));
  }

  /** Schedules the next probe in `ms`. */
  in(uid: string, ms: number): Result {
    this.#at.set(uid, this.#options.clock.monotonic() + ms);
    return unstored(ms);
  }

  /** Removes the scheduled probe of a deleted object. */
  forget(uid: string): void {
    this.#at.delete(uid);
  }
}
