import type { Logger } from 'kedge';
import { pinoLogger } from 'kedge/pino';
import { pino } from 'pino';

/** JSON lines on standard error: one constant message and fields. Synchronous, so that no line is lost at exit. */
export function daemonLogger(level: string): Logger {
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
  return pinoLogger(log);
}
