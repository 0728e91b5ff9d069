import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A user of the machine who has no part in Kedge. */
const local = 54_321;

/** Options of setpriv that run a program as a user of the machine. */
export const asLocal: readonly string[] = [
  ...['--reuid', String(local), '--regid', String(local)],
  ...['--clear-groups', '--'],
];

/** A program of a user of the machine who cooperates with a workload. */
export interface Accomplice {
  /** Kills the program, and returns when it has ended: its address is free then. */
  end(): Promise<void>;
}

/**
 * Starts a perl script as a user of the machine, and returns when it has printed something.
 * @throws Error if it ends before that
 */
export async function startAccomplice(
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<Accomplice> {
  const child = spawn('setpriv', [...asLocal, 'perl', '-e', script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const early = ended.then(([code]) => {
    throw new Error(`the accomplice ended with ${code} before it was ready`);
  });
  await Promise.race([once(child.stdout, 'data'), early]);
  // Its end is expected from now on.
  early.catch(() => undefined);
  return {
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
