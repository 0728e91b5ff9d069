import type { LogFields, Logger } from '../base/index.js';

/** One logged line with the fields of its child loggers. */
export interface RecordedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that records its lines for tests; child loggers record into the same list. */
export class RecordingLogger implements Logger {
  readonly lines: RecordedLine[];
  readonly #fields: LogFields;

  constructor(fields: LogFields = {}, lines: RecordedLine[] = []) {
    this.#fields = fields;
    this.lines = lines;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write('error', message, fields);
  }

  child(fields: LogFields): Logger {
    return new RecordingLogger({ ...this.#fields, ...fields }, this.lines);
  }

  /** Fields of the lines with this message, in order. */
  fieldsOf(message: string): readonly LogFields[] {
    return this.lines.filter((line) => line.message === message).map(({ fields }) => fields);
  }

  #write(level: RecordedLine['level'], message: string, fields: LogFields = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } });
  }
}
