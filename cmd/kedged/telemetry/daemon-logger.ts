import type { Logger } from 'kedge';
import { pinoLogger } from 'kedge/pino';
import { type DestinationStream, pino } from 'pino';
import { readableLine } from './readable-log.js';

/**
 * Returns a stream to standard error. Writes are synchronous, so that no line is lost at exit; on a terminal lines are
 * text.
 */
function standardError(): DestinationStream {
  const lines = pino.destination({ dest: 2, sync: true });
  return process.stderr.isTTY ? { write: (line) => lines.write(readableLine(line)) } : lines;
}

/** Returns a logger to standard error: one line per message with its fields, as JSON, or as text on a terminal. */
export function daemonLogger(level: string): Logger {
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    standardError(),
  );
  return pinoLogger(log);
}
