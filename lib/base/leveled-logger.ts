import type { LogFields, Logger } from './logger.js';

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
