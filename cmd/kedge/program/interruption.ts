import { note } from '../output/output.js';

const ends = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs work that waits for something that continues without this command. On SIGINT or SIGTERM it prints `continues`
 * and ends the process with exit code 130 or 143: nothing is undone.
 * @param continues a text that says what continues, and the next command
 */
export async function interruptible<T>(continues: string, work: () => Promise<T>): Promise<T> {
  const handlers = Object.entries(ends).map(([signal, code]) => {
    const handle = (): void => {
      note(`Interrupted: ${continues}`);
      process.exit(code);
    };
    process.once(signal, handle);
    return () => process.off(signal, handle);
  });
  try {
    return await work();
  } finally {
    for (const remove of handlers) remove();
  }
}
