import { type Logger as Pino, stdSerializers } from 'pino';
import type { LogFields, Logger } from '../base/index.js';

function serialized(fields: LogFields): LogFields {
  const { error } = fields;
  return error instanceof Error ? { ...fields, error: stdSerializers.err(error) } : fields;
}

/** A pino logger as the library's logger port. A line has message and fields; errors have their stacks. */
export function pinoLogger(log: Pino): Logger {
  return {
    debug: (message, fields = {}) => log.debug(serialized(fields), message),
    info: (message, fields = {}) => log.info(serialized(fields), message),
    warn: (message, fields = {}) => log.warn(serialized(fields), message),
    error: (message, fields = {}) => log.error(serialized(fields), message),
    child: (fields) => pinoLogger(log.child(serialized(fields))),
  };
}
