import { constants } from 'node:fs';
import { openLog } from '../logs/log-file.js';
import { positionAt } from '../logs/log-lines.js';
import type { WorkloadSpec } from '../runtime/runtime.js';
import type { LaunchFile, Launcher } from '../launch/launcher.js';
import { runStartNote } from './run-log.js';
import type { SpawnedRun } from './run-start.js';
import { carriedEnvironment } from './workload-environment.js';

/** A run whose folder was created. */
export interface PreparedRun {
  readonly directory: string;
  readonly files: readonly LaunchFile[];
  readonly logFile: string;
  readonly mode: 'root' | 'user';
  readonly n: number;
  /** Time of the start, milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Spawns the supervisor of a run. The supervisor outlives the daemon.
 * @throws Error if the supervisor can't be started, for example because an argument contains a NUL character
 */
export async function spawnRun(
  { launcher, supervisor }: { readonly launcher: Launcher; readonly supervisor: string },
  spec: WorkloadSpec,
  { directory, files, logFile, mode, n, now }: PreparedRun,
): Promise<SpawnedRun> {
  const { O_RDWR, O_CREAT } = constants;
  const log = await openLog(logFile, O_RDWR | O_CREAT);
  try {
    const logOffset = (await log.stat()).size;
    const position = logOffset > 0 ? await positionAt(log, logOffset) : { offset: 0, check: 0 };
    const started = runStartNote(logFile, { run: n, position, at: now });
    const { workingDir = '/', command, args: words = [] } = spec;
    const args = [directory, mode, workingDir, ...command, ...words];
    const { ended } = await launcher.launch({
      files: [...files, started],
      args: [supervisor, ...args],
      env: carriedEnvironment(spec.env),
      logFile,
    });
    return { directory, logFile, logOffset, supervisorEnd: ended };
  } finally {
    await log.close();
  }
}
