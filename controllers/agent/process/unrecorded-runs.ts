import { join } from 'node:path';
import { type Clock, sleep } from 'kedge';
import { isAlive, namesIn, type ProcessId, readIfExists } from '../launch/process-table.js';
import { processUnkillable } from '../../messages/starts.js';
import type { RunWatches } from './run-watches.js';

/** Maximum time between SIGKILL and the end of the processes, unless the kernel blocks it. */
const killMsMax = 10_000;
/** Probe interval of killed processes. */
const killedPollMs = 20;

/** Dependencies of {@link UnrecordedRuns}. */
export interface UnrecordedRunsOptions {
  /** The parent of the workloads' directories. */
  readonly directory: string;
  readonly clock: Clock;
  /** The watches of runs whose end was not observed. */
  readonly watches: RunWatches;
}

interface FoundProcess extends ProcessId {
  readonly parent: number;
  /** The workload of a supervisor; undefined for another process. */
  readonly workload: string | undefined;
}

/**
 * Runs whose folder was removed by hand while they ran. Without the folder a workload looks absent, so that a second
 * run would start beside the first one, and volumes would be detached under it.
 */
export class UnrecordedRuns {
  readonly #options: UnrecordedRunsOptions;
  /** Workloads that had supervisors at the first search of this process. Later ones are observed. */
  #before: ReadonlySet<string | undefined> | undefined;

  constructor(options: UnrecordedRunsOptions) {
    this.#options = options;
  }

  /** Kills the processes of a workload without a folder. @throws Error if one does not end */
  async end(id: string): Promise<void> {
    const { clock, directory, watches } = this.#options;
    this.#before ??= new Set(processesOf(directory).map(({ workload }) => workload));
    if (!watches.has(id) && !this.#before.has(id)) return;
    const all = processesOf(directory);
    const found = all.filter(({ workload }) => workload === id);
    // A child may be the process 1 of the sandbox, whose end is the end of all its processes.
    for (let next = 0; next < found.length; next += 1)
      found.push(...all.filter(({ parent }) => parent === found[next]?.pid));
    for (const each of found) if (isAlive(each)) killOne(each.pid);
    const until = clock.monotonic() + killMsMax;
    for (const each of found)
      while (isAlive(each)) {
        if (clock.monotonic() >= until)
          throw new Error(
            `${processUnkillable.format({ pid: String(each.pid) })}; the record of its run was removed`,
          );
        await sleep(clock, killedPollMs);
      }
  }
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function processesOf(directory: string): readonly FoundProcess[] {
  return namesIn('/proc').flatMap((name) => {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readIfExists(`/proc/${name}/stat`) : undefined;
    if (stat === undefined) return [];
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const words = (readIfExists(`/proc/${name}/cmdline`) ?? '').split('\0');
    const workload = workloadOf(words, directory);
    return [{ pid, started: fields[19] ?? '', boxed: false, parent: Number(fields[1]), workload }];
  });
}

/** The workload of a supervisor: the run folder is the first argument of its scripts. */
function workloadOf(words: readonly string[], directory: string): string | undefined {
  const path = words[words.findIndex((word) => word.endsWith('.sh')) + 1] ?? '';
  const start = join(directory, '/');
  if (!path.startsWith(start)) return undefined;
  const [, id] = /^([0-9a-f-]{36})\/run-\d+$/.exec(path.slice(start.length)) ?? [];
  return id;
}
