/** The position of a reader in a log. Its numbers are not negative and are interpreted only by its runtime. */
export type LogCursor = readonly number[];

/** The selected part of the log of a workload. */
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
  /** Only what was written until then, milliseconds since the epoch; a little more may come. Not with `follow` or `tail`. */
  readonly until?: number | undefined;
}

/** A line of a log. */
export interface LogLine {
  readonly content: string;
  /** The position after the line. */
  readonly cursor: LogCursor;
  /** When it was written, in RFC 3339; absent if unknown. */
  readonly time?: string;
}
