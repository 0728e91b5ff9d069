/** Counters of a controller. */
export interface ControllerStats {
  readonly reconciles: number;
  readonly errors: number;
  readonly terminalErrors: number;
  /** Runs that exceeded their timeout. */
  readonly timeouts: number;
  readonly active: number;
  readonly queued: number;
  /** Keys whose delay has not passed. */
  readonly delayed: number;
  /** Duration of the longest current run in milliseconds; 0 without one. */
  readonly longestRunMs: number;
}
