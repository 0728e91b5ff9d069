/** Structured fields of a log line. They must not contain secrets. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The logging port: a constant message and fields. `kedge/pino` adapts a pino logger. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds these fields to every line. */
  child(fields: LogFields): Logger;
}

/** A logger that discards every line. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
