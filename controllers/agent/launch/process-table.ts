import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Exit code that `flock` returns for a held lock, by an option. */
const lockedCode = 75;

/** Search path of host programs. */
export const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A process by pid and start time, to detect a reused pid. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly started: string;
  /**
   * True for process 1 of a sandbox, which forwards signals; false for others, such as a supervisor or the leader of a
   * workload's process group.
   */
  readonly boxed: boolean;
}

/**
 * Reads `<pid> <start>` from a supervisor, with a third word for process 1 of a sandbox. Undefined without a valid pid.
 */
export function readProcessId(file: string): ProcessId | undefined {
  const text = readIfExists(file);
  const [pidText = '', started = '', kind = ''] = (text ?? '').trim().split(' ');
  const pid = Number(pidText);
  return Number.isInteger(pid) && pid > 0 ? { pid, started, boxed: kind === 'box' } : undefined;
}

/** Whether exactly this process is running. A zombie is not running. */
export function isAlive(id: ProcessId): boolean {
  const stat = readIfExists(`/proc/${id.pid}/stat`);
  if (stat === undefined) return false;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] !== 'Z' && fields[0] !== 'X' && fields[19] === id.started;
}

/**
 * The text of a file; undefined if it (or its process) does not exist. Only for files of /proc and of runs: they are
 * short, and an asynchronous read takes longer.
 */
export function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** The names in a folder; none if it does not exist. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Whether a process of any pid namespace holds the lock (flock) on a file. A missing file is not locked.
 * @throws Error if it can't be determined
 */
export async function isLocked(file: string): Promise<boolean> {
  try {
    await access(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const code = String(lockedCode);
  try {
    await run('flock', ['--nonblock', '--conflict-exit-code', code, file, 'true'], {
      env: { PATH: programPath },
    });
    return false;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === lockedCode) return true;
    throw error;
  }
}
