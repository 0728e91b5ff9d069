import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from 'kedge';
import { settleStart, type SpawnedRun } from './run-start.js';

/** Time that a caller waits for a start. A longer start continues in the background, and its outcome is notified. */
const startPatienceMs = 250;

/** Dependencies of {@link RunStarts}. */
export interface RunStartsOptions {
  readonly clock: Clock;
  /** Time limit for a supervisor to start its workload, milliseconds. */
  readonly timeoutMs: number;
  /** Maximum probe interval of a run folder, milliseconds. */
  readonly pollMs: number;
  /** Called with the id of a workload whose start continued in the background, once its outcome is known. */
  readonly late: (id: string) => void;
}

interface Start {
  readonly run: SpawnedRun;
  readonly settled: Promise<void>;
  readonly over: AbortController;
}

/**
 * Runs whose supervisor this process spawned. After the removal of a workload its run numbers start at 1 again.
 * Therefore everything that uses the path of a run folder must end before the removal.
 */
export class RunStarts {
  readonly #options: RunStartsOptions;
  /** Folders of runs whose start has an unknown outcome. */
  readonly #spawning = new Set<string>();
  /** Starts of each workload, until the supervisor has ended and the outcome is known. */
  readonly #starts = new Map<string, Set<Start>>();

  constructor(options: RunStartsOptions) {
    this.#options = options;
  }

  /** Whether the outcome of the start in a run folder is unknown. */
  isSpawning(directory: string): boolean {
    return this.#spawning.has(directory);
  }

  /**
   * Calls `spawn` for a supervisor, and waits briefly for the start. A later outcome is notified. Rejects if `spawn`
   * does.
   */
  async follow(id: string, directory: string, spawn: () => Promise<SpawnedRun>): Promise<void> {
    this.#spawning.add(directory);
    let run: SpawnedRun;
    try {
      run = await spawn();
    } catch (error) {
      this.#spawning.delete(directory);
      throw error;
    }
    const { clock, timeoutMs, pollMs, late } = this.#options;
    const patience = new AbortController();
    const over = new AbortController();
    let isLate = false;
    const settled = settleStart(run, { clock, timeoutMs, pollMs, signal: over.signal }).finally(
      () => {
        this.#spawning.delete(directory);
        patience.abort();
        if (isLate && !over.signal.aborted) late(id);
      },
    );
    this.#keep(id, { run, settled, over });
    await Promise.race([settled, sleep(clock, startPatienceMs, patience.signal)]);
    isLate = true;
    // A later failure is not an error of this call: the listener observes the run in its folder.
    settled.catch(() => undefined);
  }

  /**
   * Ends the wait for the start of a run that was observed as running or ended; its outcome is not notified any more.
   */
  seen(id: string, directory: string): void {
    for (const { run, over } of this.#starts.get(id) ?? [])
      if (run.directory === directory) over.abort();
  }

  #keep(id: string, start: Start): void {
    const starts = this.#starts.get(id) ?? new Set();
    this.#starts.set(id, starts.add(start));
    void Promise.allSettled([start.settled, start.run.supervisorEnd]).then(() => {
      starts.delete(start);
      if (starts.size === 0 && this.#starts.get(id) === starts) this.#starts.delete(id);
    });
  }

  /** Ends the pending starts of a workload. Called before its folders are removed. */
  async end(id: string): Promise<void> {
    const starts = [...(this.#starts.get(id) ?? [])];
    await Promise.all(starts.map((start) => this.#end(start)));
  }

  async #end({ run, settled, over }: Start): Promise<void> {
    over.abort();
    await settled.catch(() => undefined);
    // A supervisor that has not started the workload ends when it finds this folder.
    await mkdir(join(run.directory, 'claimed')).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST' && error.code !== 'ENOENT') throw error;
    });
    const { clock, timeoutMs } = this.#options;
    const waiting = new AbortController();
    await Promise.race([run.supervisorEnd, sleep(clock, timeoutMs, waiting.signal)]);
    waiting.abort();
  }
}
