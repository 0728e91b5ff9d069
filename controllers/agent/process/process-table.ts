import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Exit code of `flock` for a held lock. */
const lockedCode = 75;

/** Search path of host programs. */
export const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A process by pid and start time, to detect a reused pid. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly started: string;
  /** It is process 1 of a pid namespace and passes signals on; else it leads the process group of a workload. */
  readonly boxed: boolean;
}

/**
 * Reads `<pid> <start>`, for process 1 of a box with a third word, as the supervisor writes it; undefined without
 * the file.
 */
export async function readProcessId(file: string): Promise<ProcessId | undefined> {
  const text = await readIfExists(file);
  const [pidText = '', started = '', kind = ''] = (text ?? '').trim().split(' ');
  const pid = Number(pidText);
  return Number.isInteger(pid) && pid > 0 ? { pid, started, boxed: kind === 'box' } : undefined;
}

/** Whether exactly this process still runs; a zombie does not. */
export async function isAlive(id: ProcessId): Promise<boolean> {
  const stat = await readIfExists(`/proc/${id.pid}/stat`);
  if (stat === undefined) return false;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] !== 'Z' && fields[0] !== 'X' && fields[19] === id.started;
}

/** A file's text, or undefined if it (or its process) does not exist. */
export async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/**
 * Whether a process holds the lock (flock) on a file, in whatever pid namespace it is. A missing file is not
 * locked. @throws Error if it can't be determined
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
