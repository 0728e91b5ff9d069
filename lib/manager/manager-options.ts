import {
  type Clock,
  type Logger,
  type Metrics,
  portRules,
  type Random,
  requireOptions,
  silentLogger,
  storeRule,
  systemClock,
  systemRandom,
} from '../base/index.js';
import { CauseRegistry } from '../controller/index.js';
import type { ObjectStore } from '../store/index.js';
import type { LeaderElection } from './candidacy.js';

/** Dependencies of a manager. */
export interface ManagerOptions {
  readonly store: ObjectStore;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  /**
   * Time limit of the first lists of all caches, and of the start of each controller; default 2 minutes. When it ends,
   * the start fails.
   */
  readonly syncTimeoutMs?: number;
  /** A reconcile that runs longer than this makes the manager unhealthy; default 5 minutes. */
  readonly stuckAfterMs?: number;
  /**
   * Options of the election: controllers run only while this process leads. Until then it is a warm standby: its
   * caches are synced and its queues filled. Give controllers {@link Manager.store}: its writes are fenced.
   */
  readonly leaderElection?: LeaderElection;
  /** Pause between compactions of the store's history, milliseconds; default 60 s. Infinity: never. */
  readonly compactionIntervalMs?: number;
}

/** The dependencies that a manager passes to its controllers; see {@link Manager.ports}. */
export interface ManagerPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Metrics of the manager; absent if it has none. */
  readonly metrics?: Metrics;
  readonly causes: CauseRegistry;
}

/** The dependencies that a manager with these options passes to its controllers. */
export function portsOf({
  clock = systemClock,
  random = systemRandom,
  logger = silentLogger,
  metrics,
}: ManagerOptions): ManagerPorts {
  return { clock, random, logger, ...(metrics ? { metrics } : {}), causes: new CauseRegistry() };
}

/**
 * Checks the options of a manager.
 * @throws TypeError that names an invalid option
 * @throws RangeError for a time that is not above 0: without a pause, housekeeping would never rest
 */
export function requireManagerOptions(options: ManagerOptions): void {
  requireOptions('Manager', options, { store: storeRule, ...portRules });
  for (const field of ['syncTimeoutMs', 'stuckAfterMs', 'compactionIntervalMs'] as const) {
    const ms = options[field];
    if (ms !== undefined && !(typeof ms === 'number' && ms > 0))
      throw new RangeError(`${field} is ${String(ms)}; give milliseconds, above 0`);
  }
}

/** Options of the stop of {@link Manager.run}. */
export interface RunOptions {
  /**
   * Time for the stop, milliseconds; default 25 s, less than the 30 s after which Kubernetes and most
   * supervisors kill.
   */
  readonly stopBudgetMs?: number;
}
