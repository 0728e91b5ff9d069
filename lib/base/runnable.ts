/** Something with a life of its own that a manager starts and stops. */
export interface Runnable {
  /** For log lines, health, and errors that say what could not be started or stopped. */
  readonly name: string;
  /** False: runs on every candidate, not only on the leader. Default true, as controller-runtime has it. */
  readonly needsLeaderElection?: boolean;
  /**
   * Resolves when it runs; called once. `signal` aborts when the start is no longer wanted: give up
   * then and reject. A start that resolves all the same is followed by `stop`.
   */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Must resolve within the budget it is given, in milliseconds; 0 means at once. Called once, after
   * `start` has resolved; not after it has rejected. Later it is left behind, and the manager's stop
   * says so.
   */
  stop(budgetMs: number): Promise<void>;
  /** Brings gauges that change with time up to date; a manager with metrics calls it each second. */
  refreshMetrics?(): void;
}
