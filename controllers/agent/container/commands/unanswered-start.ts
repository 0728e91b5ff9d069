import { type Clock, sleep } from 'kedge';
import type { EngineExec } from '../engine/engine-exec.js';
import { isEngineError } from '../engine/engine-error.js';
import { signalCommand } from './signal-command.js';

const firstWaitMs = 1_000;
const longestWaitMs = 60_000;
/** Maximum number of tries; the waits before them are about six minutes together. */
const triesMax = 11;

/**
 * Kills a command whose start the engine did not answer: the engine may start it later, and nothing would read its
 * output. Returns whether the command has ended; false if its end was not observed within all tries, or the signal
 * aborts.
 */
export async function endUnanswered(
  {
    clock,
    container,
    exec,
    signal,
  }: {
    readonly clock: Clock;
    readonly container: string;
    readonly exec: Pick<EngineExec, 'create' | 'inspect' | 'start'>;
    readonly signal: AbortSignal;
  },
  id: string,
): Promise<boolean> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const waitMs = Math.min(firstWaitMs * 2 ** tries, longestWaitMs);
    await sleep(clock, waitMs, signal, { background: true });
    if (signal.aborted) return false;
    try {
      const { exitCode } = await exec.inspect(id, signal);
      if (exitCode !== undefined) return true;
      await signalCommand({ clock, exec, signal }, { id, container }, 'SIGKILL');
    } catch (error) {
      // The engine forgets a command with its container. After other errors the next try follows.
      if (isEngineError(error, 'NotFound')) return true;
    }
  }
  return false;
}
