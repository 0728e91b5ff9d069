import { readdir, readFile } from 'node:fs/promises';
import { failedPrecondition, messageOf } from 'kedge';
import type { CommandRecord } from './command-records.js';
import { signalInside, type SignalInsideOptions } from './signal-inside.js';

/** Dependencies of {@link signalCommand}. */
export interface SignalCommandOptions extends SignalInsideOptions {
  /** Default: that of this process. */
  readonly kill?: (pid: number, name: NodeJS.Signals) => void;
}

/**
 * Signals the process of a command and its descendants, because the engine has no call for it. A process whose parent
 * has ended is no longer a descendant, and is not signalled. No-op if the command has ended. Processes that this
 * process may not signal, such as those of other users without root, are signalled by a shell in the container.
 * @throws StatusError FailedPrecondition (ExecFailed) if the process is not in this container, or can't be signalled;
 * EngineError if the engine does not report the command
 */
export async function signalCommand(
  options: SignalCommandOptions,
  { id, container }: CommandRecord,
  name: NodeJS.Signals,
): Promise<void> {
  const { exec, signal, kill = (target, how) => void process.kill(target, how) } = options;
  const { pid, running } = await exec.inspect(id, signal);
  if (!running || pid <= 1) return;
  // The file can't be read if no process here has this pid: the process is then in another pid namespace.
  const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  if (!cgroup.includes(container))
    throw failedPrecondition(
      'ExecFailed',
      `process ${pid} of the command is not visible in the pid namespace of kedged; end it inside the container, or run kedged in the pid namespace of the host`,
    );
  const denied: number[] = [];
  for (const target of await withChildren(pid))
    try {
      kill(target, name);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPERM') denied.push(target);
      // The process has ended meanwhile.
      else if (code !== 'ESRCH') throw error;
    }
  if (denied.length === 0) return;
  await signalInside(options, { container, main: pid, targets: denied }, name).catch(
    (error: unknown) => {
      throw failedPrecondition(
        'ExecFailed',
        `kedged does not run as root and may not signal process ${pid} of the command, and a shell in the container could not either (${messageOf(error)}); end it: sudo kill -9 ${pid}, or run kedged as root`,
      );
    },
  );
}

/** A process and all its descendants, the deepest last. */
async function withChildren(pid: number): Promise<readonly number[]> {
  const found = [pid];
  // A process that has ended meanwhile has no children.
  for (const parent of found) {
    // The kernel lists a child at the thread that created it.
    for (const thread of await readdir(`/proc/${parent}/task`).catch(() => [])) {
      const path = `/proc/${parent}/task/${thread}/children`;
      const text = await readFile(path, 'utf8').catch(() => '');
      const children = text.split(' ').map(Number);
      found.push(...children.filter((child) => child > 1 && !found.includes(child)));
    }
  }
  return found;
}
