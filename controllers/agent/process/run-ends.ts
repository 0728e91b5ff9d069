import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkloadState } from '../runtime/runtime.js';
import { readIfExists } from '../launch/process-table.js';
import { refusalOf } from './run-start.js';

/** Exit code of a workload that SIGKILL ended. */
const killedCode = 137;

/** The exit code in a record of an end; undefined if the disk was full when an earlier release wrote it. */
export function exitCodeIn(text: string): number | undefined {
  const code = text.trim();
  return code === '' ? undefined : Number(code);
}

/** A run that has ended. */
export type RunEnd = Extract<WorkloadState, { state: 'exited' }>;

interface KnownEnd {
  readonly directory: string;
  readonly end: RunEnd;
}

/**
 * Cached ends of runs, by workload. The folder of a run does not change after its end, and a workload that waits
 * for its restart is observed several times, so that each recorded end is read once.
 */
export class RunEnds {
  readonly #known = new Map<string, KnownEnd>();
  readonly #ranOutOfMemory: (id: string) => boolean;

  /**
   * @param ranOutOfMemory whether the kernel killed a process of the workload's last run for lack of memory
   */
  constructor(ranOutOfMemory: (id: string) => boolean) {
    this.#ranOutOfMemory = ranOutOfMemory;
  }

  /** The cached end of this run; undefined if it was not read yet. */
  get(id: string, directory: string): RunEnd | undefined {
    const known = this.#known.get(id);
    return known?.directory === directory ? known.end : undefined;
  }

  /**
   * Reads the end of run `n` from its folder, and caches it. An end without an exit code is not cached, because the
   * code may follow.
   */
  read(
    id: string,
    { directory, n, exitCode }: { directory: string; n: number; exitCode: number | undefined },
  ): RunEnd {
    const startedAt = timeOf(directory, 'pid') || timeOf(directory, 'claimed');
    const exitedAt = timeOf(directory, 'exit') || startedAt;
    const requested = readIfExists(join(directory, 'stop-requested')) !== undefined;
    const refused = refusalOf(directory);
    const outOfMemory = exitCode === killedCode && !requested && this.#ranOutOfMemory(id);
    const times = { exitCode, startedAt, exitedAt, requested };
    const end: RunEnd = {
      state: 'exited',
      run: n,
      ...times,
      ...(refused === '' ? {} : { refused }),
      ...(outOfMemory && { reason: 'OOMKilled' as const }),
    };
    if (exitCode !== undefined) this.#known.set(id, { directory, end });
    return end;
  }

  /** Clears the cached end of the workload. */
  forget(id: string): void {
    this.#known.delete(id);
  }
}

/** Modification time of a file in milliseconds since the epoch; 0 if it does not exist. */
function timeOf(directory: string, file: string): number {
  return statSync(join(directory, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
