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

/** The level of a log line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A logger whose levels have one method. */
export abstract class LeveledLogger implements Logger {
  debug(message: string, fields?: LogFields): void {
    this.write('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.write('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.write('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.write('error', message, fields);
  }

  abstract child(fields: LogFields): Logger;

  /** Writes a line. */
  protected abstract write(level: LogLevel, message: string, fields: LogFields | undefined): void;
}

/** A logger that discards every line. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
