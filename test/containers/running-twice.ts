import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { EngineClient, EngineError } from '@kedge/controllers';
import { systemClock } from 'kedge';

const intervalMs = 100;
const instanceLabel = 'svc.io/instance';

/**
 * Counts the init processes of containers on the machine by a word of their arguments. The kernel has them also while
 * the engine is away.
 * @param mark prefix of the word; the result has the rest of it
 */
export function initProcesses(mark: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const name = words.find((word) => word.startsWith(mark))?.slice(mark.length);
      if (name === undefined) continue;
      // Counts process 1 of each container. Its children have its arguments until they execute another program.
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      if (!/^NSpid:.*\t1$/m.test(status)) continue;
      found.set(name, (found.get(name) ?? 0) + 1);
    } catch {
      // It ended meanwhile.
    }
  return found;
}

/** Options of {@link RunningTwice}. */
export interface TwiceOptions {
  /** Socket of the engine. */
  readonly socketPath: string;
  /** As in {@link initProcesses}. */
  readonly mark: string;
}

/** The result so far. */
export interface TwiceReport {
  /** A line for each workload that was found with several containers, and for each unexpected error. */
  readonly found: readonly string[];
  /** The number of checks of either kind, as text for a reader. */
  readonly size: string;
}

/**
 * Searches every 100 ms for a workload with two running containers: by the processes of the machine, and by the list of
 * the engine while it answers.
 */
export class RunningTwice {
  readonly #found = new Set<string>();
  readonly #engine: EngineClient;
  readonly #mark: string;
  #looks = 0;
  #lists = 0;
  #longestMs = 0;
  #lastAt = performance.now();
  #isListing = false;

  constructor({ socketPath, mark }: TwiceOptions) {
    this.#engine = new EngineClient({ socketPath, clock: systemClock });
    this.#mark = mark;
    setInterval(() => this.#look(), intervalMs);
  }

  report(): TwiceReport {
    const size = `${this.#looks} checks of the processes, at most ${Math.round(this.#longestMs)} ms apart, and ${this.#lists} of the engine's list`;
    return { found: [...this.#found], size };
  }

  #look(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lastAt);
    this.#lastAt = now;
    this.#looks += 1;
    this.#note('processes', initProcesses(this.#mark));
    if (!this.#isListing) void this.#list();
  }

  async #list(): Promise<void> {
    this.#isListing = true;
    const uids = new Map<string, number>();
    try {
      for (const { labels, state } of await this.#engine.containers.list(
        [instanceLabel],
        new AbortController().signal,
      )) {
        const uid = labels[instanceLabel] ?? '';
        if (state === 'running') uids.set(uid, (uids.get(uid) ?? 0) + 1);
      }
      this.#lists += 1;
      this.#note('containers', uids);
    } catch (error) {
      // The engine was killed.
      if (!(error instanceof EngineError)) this.#found.add(String(error));
    } finally {
      this.#isListing = false;
    }
  }

  #note(what: string, counts: ReadonlyMap<string, number>): void {
    for (const [name, count] of counts)
      if (count > 1) this.#found.add(`${name} has ${count} running ${what}`);
  }
}

/** {@link RunningTwice} in a thread of its own. */
export class RunningTwiceThread {
  readonly #worker: Worker;

  constructor(options: TwiceOptions) {
    const program = new URL('running-twice-worker.js', import.meta.url);
    this.#worker = new Worker(program, { workerData: options });
  }

  async report(): Promise<TwiceReport> {
    const answer = once(this.#worker, 'message');
    this.#worker.postMessage('report');
    const [report] = (await answer) as [TwiceReport];
    return report;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
