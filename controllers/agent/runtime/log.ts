/** Where a reader of a log is. Its runtime alone knows what the numbers mean; none is negative. */
export type LogCursor = readonly number[];

/** What to read of the log of a workload. */
export interface LogRequest {
  /** Start with this many last lines; 0 means all. */
  readonly tail: number;
  /** Go on until the signal aborts, across runs. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
  /** Go on behind this line; `tail` and `since` are not looked at then. */
  readonly after?: LogCursor | undefined;
  /** Only what was written since then, milliseconds since the epoch; a little more may come. */
  readonly since?: number | undefined;
}

/** A line of a log. */
export interface LogLine {
  readonly content: string;
  /** Behind it. */
  readonly cursor: LogCursor;
}
