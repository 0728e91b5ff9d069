import type { Logger } from 'kedge';

/** Number of different warnings that are remembered, and so logged once. */
const textsMax = 100;

/**
 * Logs the warnings of Node.js and of packages, which otherwise are plain text among the lines of the log. Each text is
 * logged once.
 */
export function logProcessWarnings(logger: Logger): void {
  const logged = new Set<string>();
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (logged.has(message) || logged.size >= textsMax) return;
    logged.add(message);
    logger.warn(message.replaceAll(/\s*\n\s*/g, ' '), { name });
  });
}
