import {
  type Clock,
  type FieldViolation,
  invalid,
  limits,
  type Logger,
  portRules,
  type Random,
  requireOptions,
  storeRule,
} from '../base/index.js';
import type { ObjectStore } from '../store/index.js';

/** Times and dependencies of an election. Defaults and rules are those of client-go. */
export interface LeaderElectorOptions {
  readonly store: ObjectStore;
  /** Name of the lease; each lease has one leader. 1 to `limits.electionNameCharactersMax` characters, no slash. */
  readonly name: string;
  /**
   * Identity of this candidate, 1 to `limits.electionNameCharactersMax` characters. Unique among all candidates of
   * the lease, also across restarts of the process: for example host name and a random suffix.
   */
  readonly identity: string;
  /** A lease that was not renewed for this long may be taken, in milliseconds; default 15 s. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for this long steps down; less than the lease; default 10 s. */
  readonly renewDeadlineMs?: number;
  /** Interval between attempts, and timeout of a release; default 2 s. */
  readonly retryPeriodMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/**
 * Callbacks of a candidate. Start and stop may be called repeatedly. A callback that throws is logged and does not end
 * the election.
 */
export interface LeaderCallbacks {
  /**
   * Called when this candidate starts to lead; it leads until `signal` aborts. The work must end soon after: the lease
   * is not released before the promise settles. When it rejects, the candidate steps down.
   */
  onStartedLeading(signal: AbortSignal): void | Promise<void>;
  /** Called when the candidate no longer leads, and once when the elector stops without having led. */
  onStoppedLeading(): void | Promise<void>;
  /** Called when the leader changed; the new one may be this candidate. */
  onNewLeader?(identity: string): void;
}

/** Maximum factor by which jitter lengthens the pause between attempts. */
export const jitterFactor = 1.2;

/** Validated times of an election. */
export interface ElectionTimes {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/**
 * Returns the times if they are valid.
 * @throws RangeError unless they are finite and lease > renew deadline > 1.2 x retry period > 0.
 */
export function electionTimes(options: Partial<ElectionTimes>): ElectionTimes {
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  const inOrder =
    Number.isFinite(leaseDurationMs) &&
    leaseDurationMs > renewDeadlineMs &&
    renewDeadlineMs > jitterFactor * retryPeriodMs &&
    retryPeriodMs > 0;
  if (!inOrder)
    throw new RangeError(
      `lease ${leaseDurationMs} ms, renew deadline ${renewDeadlineMs} ms and retry period ${retryPeriodMs} ms: each must be finite and longer than the next (the last one times ${jitterFactor})`,
    );
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
}

function violation(field: string, value: unknown, example: string): FieldViolation | undefined {
  const rule = (problem: string): FieldViolation => ({
    field,
    description: `${problem}; give a name such as ${example}`,
  });
  if (typeof value !== 'string') return rule(`is ${String(value)}, not a string`);
  if (value.trim() === '') return rule(`is ${JSON.stringify(value)}, which is not a name`);
  const max = limits.electionNameCharactersMax;
  if (value.length > max) return rule(`has ${value.length} characters, more than ${max}`);
  if (value !== value.trim() || /\p{Cc}/u.test(value))
    return rule(
      `is ${JSON.stringify(value)}: spaces around it and control characters are not allowed`,
    );
  return undefined;
}

/** The names of an election and a candidate. */
type ElectionNames = Pick<LeaderElectorOptions, 'name' | 'identity'>;

const { clock, random, logger } = portRules;

/**
 * Checks the options of an elector.
 * @throws TypeError that names an invalid option
 * @throws StatusError as {@link requireElectionNames}
 */
export function requireElectorOptions(options: LeaderElectorOptions): void {
  requireOptions('LeaderElector', options, {});
  requireElectionNames(options);
  requireOptions('LeaderElector', options, { store: storeRule, clock, random, logger });
}

/**
 * Checks the names of an election. A free lease has an empty identity, so every candidate would see the lease of a
 * candidate with an empty identity as free.
 * @throws StatusError InvalidArgument with a violation for `name`, `identity` or both
 */
export function requireElectionNames({ name, identity }: ElectionNames): void {
  const slash: FieldViolation = { field: 'name', description: `is "${name}": "/" is not allowed` };
  const violations = [
    violation('name', name, '"jobs"') ?? (name.includes('/') ? slash : undefined),
    violation('identity', identity, '`${hostname()}-${randomUUID()}`'),
  ].filter((found) => found !== undefined);
  if (violations.length > 0) throw invalid(violations);
}
