import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { processUnrecorded } from '../../../messages/starts.js';

/** The error for processes of a container that the engine has no record of and that can't be killed. */
export class UnrecordedProcesses extends Error {
  override readonly name = 'UnrecordedProcesses';
}

/**
 * Kills the processes of a container that the engine's records show as created and never started. An engine that is
 * killed during a start may leave them running. It can't stop them later, and a second container would run in parallel.
 * @param id the whole id of the container
 * @returns the pids of the killed processes
 * @throws UnrecordedProcesses with the remedy if the permission is missing
 */
export async function killUnrecorded(id: string, proc = '/proc'): Promise<readonly number[]> {
  const killed: number[] = [];
  // The shim is first: when it ends, containerd removes its records of the container.
  for (const { pid, startTime } of await processesOf(id, proc))
    try {
      // A process that has ended may have left its pid to another one.
      if ((await startTimeOf(pid, proc)) !== startTime) continue;
      process.kill(pid, 'SIGKILL');
      killed.push(pid);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') continue;
      throw new UnrecordedProcesses(
        `${processUnrecorded.format({ pid, container: id.slice(0, 12) })}, and the engine does not know it; end it: sudo kill -9 ${pid}`,
        { cause: error },
      );
    }
  return killed;
}

interface FoundProcess {
  readonly pid: number;
  /** In the unit of the kernel; undefined if the process has ended. */
  readonly startTime: string | undefined;
}

/** The start time of a process: the twentieth field after its name, which may contain spaces. */
async function startTimeOf(pid: number, proc: string): Promise<string | undefined> {
  const stat = await textOf(`${proc}/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** The shim of the container first, then the processes in its control groups. */
async function processesOf(id: string, proc: string): Promise<readonly FoundProcess[]> {
  const shims: FoundProcess[] = [];
  const inside: FoundProcess[] = [];
  for (const name of await readdir(proc)) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    // Read first, so that what is read below is of this process or of a later one with its pid.
    const found = { pid, startTime: await startTimeOf(pid, proc) };
    const words = (await textOf(`${proc}/${name}/cmdline`)).split('\0');
    const isShim = basename(words[0] ?? '').startsWith('containerd-shim');
    if (isShim && words[words.indexOf('-id') + 1] === id) shims.push(found);
    else if ((await textOf(`${proc}/${name}/cgroup`)).includes(id)) inside.push(found);
  }
  return [...shims, ...inside];
}

/** The text of a file; empty if it can't be read, for example because the process ended meanwhile. */
function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
