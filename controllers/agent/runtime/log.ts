/** The position of a reader in a log. Its numbers are not negative; only its runtime interprets them. */
export type LogCursor = readonly number[];

/** The selected part of the log of a workload. */
export interface LogRequest {
  /** Number of last lines to start with; 0 for all. */
  readonly tail: number;
  /** Continue with new lines until the signal aborts, across runs. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
  /** Continue after this line; overrides `tail` and `since`. */
  readonly after?: LogCursor | undefined;
  /**
   * Only lines since this time, milliseconds since the epoch. Earlier lines are included if their times are not exactly
   * known, as those of a process.
   */
  readonly since?: number | undefined;
  /**
   * Only lines until this time, milliseconds since the epoch; later lines are included as with `since`. Not with
   * `follow` or `tail`.
   */
  readonly until?: number | undefined;
}

/** A line of a log. */
export interface LogLine {
  readonly content: string;
  /** The position after the line. */
  readonly cursor: LogCursor;
  /** Time of the write, in RFC 3339; for a process an estimate that is not earlier. Absent if unknown. */
  readonly time?: string;
}
