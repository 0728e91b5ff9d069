import { readFile } from 'node:fs/promises';
import { type Clock, sleep } from 'kedge';
import type { EngineExec } from '../engine/engine-exec.js';

/** Poll interval for the end of the shell, and its limit: together 5 seconds. */
const pollMs = 20;
const pollsMax = 250;

/** Fails if a process exists and could not be signalled. Its arguments are the name of the signal, and the pids. */
const script =
  'for pid; do kill -s "$0" "$pid" 2>/dev/null || [ ! -d "/proc/$pid" ] || exit 1; done';

/** Dependencies of {@link signalInside}. */
export interface SignalInsideOptions {
  readonly exec: Pick<EngineExec, 'create' | 'inspect' | 'start'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Processes of a container, with their pids in the pid namespace of this process. */
export interface InsideTargets {
  readonly container: string;
  /** A process in the pid namespace of the container. */
  readonly main: number;
  readonly targets: readonly number[];
}

/**
 * Signals processes of a container by a shell in it, with the user of the container. No-op if they have ended.
 * @throws Error if the container has no `sh`, its user may not signal a process, or the shell does not end in 5 seconds
 * @throws EngineError if the engine can't run the shell
 */
export async function signalInside(
  { exec, clock, signal }: SignalInsideOptions,
  { container, main, targets }: InsideTargets,
  name: NodeJS.Signals,
): Promise<void> {
  const depth = (await pidsOf(main)).length - 1;
  const inside: string[] = [];
  // A process that has ended meanwhile has no pid.
  for (const target of targets) inside.push(...(await pidsOf(target)).slice(depth, depth + 1));
  if (depth < 0 || inside.length === 0) return;
  const Cmd = ['sh', '-c', script, name.slice('SIG'.length), ...inside];
  const config = { AttachStdout: true, AttachStderr: true, Cmd };
  const id = await exec.create(container, config, signal);
  const { socket } = await exec.start(id, false, signal);
  socket.on('error', () => undefined);
  socket.resume();
  try {
    for (let polls = 0; polls < pollsMax; polls += 1) {
      const { exitCode } = await exec.inspect(id, signal);
      if (exitCode === 0) return;
      if (exitCode !== undefined) throw new Error(`sh ended with exit code ${exitCode}`);
      await sleep(clock, pollMs, signal);
    }
    throw new Error('sh did not end');
  } finally {
    socket.destroy();
  }
}

/** The pids of a process in the pid namespaces that it is in, that of this process first; none if it has ended. */
async function pidsOf(pid: number): Promise<readonly string[]> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, pids = ''] = /^NSpid:\s*(.*)$/m.exec(status) ?? [];
  return pids.split(/\s+/).filter((each) => each !== '');
}
