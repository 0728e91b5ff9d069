/** Counters of a controller. */
export interface ControllerStats {
  readonly reconciles: number;
  readonly errors: number;
  readonly terminalErrors: number;
  /** Runs that went on beyond their time limit. */
  readonly timeouts: number;
  readonly active: number;
  readonly queued: number;
  /** Keys waiting for a time. */
  readonly delayed: number;
  /** Milliseconds that the longest run goes on; 0 when none does. */
  readonly longestRunMs: number;
}
