import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { openLog } from '../../log/log-file.js';
import type { WorkloadSpec } from '../runtime/runtime.js';
import { noteRunStart } from './run-log.js';
import type { SpawnedRun } from './run-start.js';
import { carriedEnvironment } from './workload-environment.js';

/** A run with a complete folder. */
export interface PreparedRun {
  readonly directory: string;
  readonly logFile: string;
  readonly mode: 'root' | 'user';
  readonly n: number;
  /** Wall clock. */
  readonly now: number;
}

/**
 * Spawns the supervisor of a run; it outlives the daemon.
 * @throws Error if the command can't be spawned, for example with a NUL character.
 */
export async function spawnRun(
  supervisor: string,
  spec: WorkloadSpec,
  { directory, logFile, mode, n, now }: PreparedRun,
): Promise<SpawnedRun> {
  const { O_WRONLY, O_CREAT, O_APPEND } = constants;
  const log = await openLog(logFile, O_WRONLY | O_CREAT | O_APPEND);
  const logOffset = (await log.stat()).size;
  try {
    await noteRunStart(logFile, { run: n, offset: logOffset, now });
    const { workingDir = '/', command, args: words = [] } = spec;
    const args = [directory, mode, workingDir, ...command, ...words];
    const child = spawn('/bin/sh', [supervisor, ...args], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: carriedEnvironment(spec.env),
      cwd: '/',
    });
    const supervisorEnd = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    return { directory, logFile, logOffset, supervisorEnd };
  } finally {
    await log.close();
  }
}
