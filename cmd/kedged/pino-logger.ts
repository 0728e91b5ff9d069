import type { LogFields, Logger } from 'kedge';
import { type Logger as Pino, pino } from 'pino';

function serialized(fields: LogFields): LogFields {
  const { error } = fields;
  return error instanceof Error ? { ...fields, error: pino.stdSerializers.err(error) } : fields;
}

function adapt(log: Pino): Logger {
  return {
    debug: (message, fields = {}) => log.debug(serialized(fields), message),
    info: (message, fields = {}) => log.info(serialized(fields), message),
    warn: (message, fields = {}) => log.warn(serialized(fields), message),
    error: (message, fields = {}) => log.error(serialized(fields), message),
    child: (fields) => adapt(log.child(serialized(fields))),
  };
}

/** JSON lines on standard error: one constant message and fields. Synchronous, so that no line is lost at exit. */
export function pinoLogger(level: string): Logger {
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
  return adapt(log);
}
