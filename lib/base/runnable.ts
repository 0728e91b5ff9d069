/** A component that a manager starts and stops. */
export interface Runnable {
  /** Name for log lines, health, and errors of start and stop. */
  readonly name: string;
  /** False: runs on every candidate, not only on the leader. Default true, as in controller-runtime. */
  readonly needsLeaderElection?: boolean;
  /**
   * Called once; resolves when the component runs. `signal` aborts when the start is cancelled: the start should then
   * reject. If the start resolves anyway, `stop` is called.
   */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Called once after `start` has resolved, not after `start` rejected. Must resolve within the budget in milliseconds;
   * 0 means at once. After the budget the manager no longer waits and reports the component.
   */
  stop(budgetMs: number): Promise<void>;
  /** Updates gauges that change with time; a manager with metrics calls it every second. */
  refreshMetrics?(): void;
}
