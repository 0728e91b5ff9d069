import type { Logger } from 'kedge';
import { pinoLogger } from 'kedge/pino';
import { type DestinationStream, pino } from 'pino';
import { readableLine } from './readable-log.js';

/** Standard error. Synchronous, so that no line is lost at exit. */
function standardError(): DestinationStream {
  const lines = pino.destination({ dest: 2, sync: true });
  return process.stderr.isTTY ? { write: (line) => lines.write(readableLine(line)) } : lines;
}

/** One constant message with fields per line, on standard error: JSON, or text on a terminal. */
export function daemonLogger(level: string): Logger {
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    standardError(),
  );
  return pinoLogger(log);
}
