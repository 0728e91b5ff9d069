import type { LogFields, Logger } from '../base/index.js';
import { LeveledLogger, type LogLevel } from '../base/logger.js';

/** One logged line. Its fields include those of its child logger. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that records its lines for tests; child loggers record into the same list. */
export class RecordingLogger extends LeveledLogger {
  readonly lines: RecordedLine[];
  readonly #fields: LogFields;

  constructor(fields: LogFields = {}, lines: RecordedLine[] = []) {
    super();
    this.#fields = fields;
    this.lines = lines;
  }

  child(fields: LogFields): Logger {
    return new RecordingLogger({ ...this.#fields, ...fields }, this.lines);
  }

  /** Fields of the lines with this message, in order. */
  fieldsOf(message: string): readonly LogFields[] {
    return this.lines.filter((line) => line.message === message).map(({ fields }) => fields);
  }

  protected write(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } });
  }
}
