import { readFile } from 'node:fs/promises';
import type { EngineExec } from '../engine/engine-exec.js';
import type { CommandRecord } from './command-records.js';

/**
 * Signals the process of a command and its descendants, because the engine has no call for it. No-op if the command has
 * ended.
 * @throws Error if the process is not in this container
 */
export async function signalCommand(
  exec: Pick<EngineExec, 'inspect'>,
  { id, container }: CommandRecord,
  name: NodeJS.Signals,
  signal: AbortSignal,
): Promise<void> {
  const { pid, running } = await exec.inspect(id, signal);
  if (!running || pid <= 1) return;
  // Unreadable without a process of this id here: it is not one of the container then.
  const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  if (!cgroup.includes(container))
    throw new Error(
      `process ${pid} of the command is not visible in the pid namespace of kedged; end it inside the container, or run kedged in the pid namespace of the host`,
    );
  for (const target of await withChildren(pid)) signalOne(target, name);
}

/** A process and all its descendants, the deepest last. */
async function withChildren(pid: number): Promise<readonly number[]> {
  const found = [pid];
  for (const parent of found) {
    // A process that has ended meanwhile has no children.
    const path = `/proc/${parent}/task/${parent}/children`;
    const text = await readFile(path, 'utf8').catch(() => '');
    found.push(
      ...text
        .split(' ')
        .map(Number)
        .filter((child) => child > 1),
    );
  }
  return found;
}

function signalOne(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // The process has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
