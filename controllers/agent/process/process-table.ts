import { readFile } from 'node:fs/promises';

/** A process by number and start, so that a reused number is told apart. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly started: string;
}

/** Reads `<pid> <start>` as the supervisor writes it; undefined when there is no such file. */
export async function readProcessId(file: string): Promise<ProcessId | undefined> {
  const text = await readIfExists(file);
  const [pidText = '', started = ''] = (text ?? '').trim().split(' ');
  const pid = Number(pidText);
  return Number.isInteger(pid) && pid > 0 ? { pid, started } : undefined;
}

/** Whether exactly this process still runs; a zombie does not. */
export async function isAlive(id: ProcessId): Promise<boolean> {
  const stat = await readIfExists(`/proc/${id.pid}/stat`);
  if (stat === undefined) return false;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] !== 'Z' && fields[0] !== 'X' && fields[19] === id.started;
}

/** A file's text, or undefined when it (or its process) is not there. */
export async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
