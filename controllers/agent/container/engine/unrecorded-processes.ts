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
 * @throws UnrecordedProcesses with the remedy if the permission is missing
 */
export async function killUnrecorded(id: string, proc = '/proc'): Promise<void> {
  // The shim is first: when it ends, containerd removes its records of the container.
  for (const pid of await processesOf(id, proc))
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') continue;
      throw new UnrecordedProcesses(
        `${processUnrecorded.format({ pid, container: id.slice(0, 12) })}, and the engine does not know it; end it: sudo kill -9 ${pid}`,
        { cause: error },
      );
    }
}

/** The shim of the container first, then the processes in its control groups. */
async function processesOf(id: string, proc: string): Promise<readonly number[]> {
  const shims: number[] = [];
  const inside: number[] = [];
  for (const name of await readdir(proc)) {
    if (!/^\d+$/.test(name)) continue;
    const words = (await textOf(`${proc}/${name}/cmdline`)).split('\0');
    const isShim = basename(words[0] ?? '').startsWith('containerd-shim');
    if (isShim && words[words.indexOf('-id') + 1] === id) shims.push(Number(name));
    else if ((await textOf(`${proc}/${name}/cgroup`)).includes(id)) inside.push(Number(name));
  }
  return [...shims, ...inside];
}

/** The text of a file; empty if it can't be read, for example because the process ended meanwhile. */
function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
