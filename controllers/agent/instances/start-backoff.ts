import { backoffDelayMs, type Clock, type Random } from 'kedge';
import type { Instance, InstanceBackoff } from '../../instance/kind.js';
import { backoffOf, type ControllerPolicy } from '../../policy/policy.js';
import type { WorkloadState } from '../runtime/runtime.js';
import { wasHealthy } from './restart.js';

/** Options of the start backoff. */
export interface StartBackoffOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly policy: ControllerPolicy;
}

/** The consequence of a failed start. */
export interface FailedStart {
  /** The new value of the instance's `backoff`. */
  readonly backoff: InstanceBackoff;
  /** Delay until the next start, milliseconds. */
  readonly delayMs: number;
}

/**
 * Backoff of workload starts. A failed start or attach changes the status of the instance, and the agent would retry
 * at this change immediately. The backoff is stored in that status, so that it survives a restart of the agent. A new
 * generation of the instance starts at once, with no failed starts; the counters of crashes, engine ends and failed
 * pulls are kept.
 */
export class StartBackoff {
  readonly #options: StartBackoffOptions;

  constructor(options: StartBackoffOptions) {
    this.#options = options;
  }

  /** Milliseconds until the next start; 0 if it is due, or the last failed start was of another generation. */
  leftMs({ backoff, metadata }: Instance): number {
    const { clock, policy } = this.#options;
    if (backoff?.generation !== metadata.generation) return 0;
    const left = Date.parse(backoff.nextStartAt ?? '') - clock.now();
    // A clock that was set back delays a start by at most the maximum backoff.
    return left > 0 ? Math.min(left, backoffOf(policy, 'start').maxMs) : 0;
  }

  /**
   * The backoff after a failed start.
   * @param run the runtime's run, if there is one
   * @param isNoRestart whether the image of the run could not be pulled, or its container could not be created
   */
  failed({ backoff, metadata }: Instance, run?: number, isNoRestart = false): FailedStart {
    const { clock, random, policy } = this.#options;
    const { generation } = metadata;
    const before = backoff?.generation === generation ? (backoff.failedStarts ?? 0) : 0;
    const delayMs = backoffDelayMs(backoffOf(policy, 'start'), before, random);
    const next = {
      ...backoff,
      ...(run === undefined ? {} : { run }),
      ...(isNoRestart ? { failedPulls: (backoff?.failedPulls ?? 0) + 1 } : {}),
      failedStarts: before + 1,
      nextStartAt: new Date(clock.now() + delayMs).toISOString(),
      generation,
    };
    return { backoff: next, delayMs };
  }

  /**
   * Returns the backoff to store after the end of a run; undefined if there is none. Each run is counted once; runs
   * that the agent stopped are not counted.
   */
  ended(
    { backoff }: Instance,
    state: Extract<WorkloadState, { state: 'exited' }>,
  ): InstanceBackoff | undefined {
    const { run, requested, reason } = state;
    const { crashes = 0, run: counted } = backoff ?? {};
    if (counted === run || requested) return backoff;
    if (reason === 'EngineRestarted')
      return { ...backoff, run, engineEnds: (backoff?.engineEnds ?? 0) + 1 };
    const healthy = wasHealthy(this.#options.policy, state);
    return { ...backoff, run, crashes: healthy ? 0 : crashes + 1 };
  }

  /**
   * Returns the backoff to store for a running workload: without the failed starts, with the other counters. Undefined
   * if the instance has none.
   */
  running({ backoff }: Instance): InstanceBackoff | undefined {
    if (backoff?.failedStarts === undefined) return backoff;
    const { crashes, run, engineEnds, failedPulls } = backoff;
    return {
      ...(crashes === undefined ? {} : { crashes }),
      ...(run === undefined ? {} : { run }),
      ...(engineEnds === undefined ? {} : { engineEnds }),
      ...(failedPulls === undefined ? {} : { failedPulls }),
    };
  }
}
