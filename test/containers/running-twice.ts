import { readdirSync, readFileSync } from 'node:fs';
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

/**
 * Looks every 100 ms for a workload with two running containers: by the processes of the machine, and by the list of
 * the engine while it answers.
 */
export class RunningTwice {
  /** Each workload that was found with two containers. */
  readonly found = new Set<string>();
  readonly #engine: EngineClient;
  readonly #mark: string;
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #looks = 0;
  #lists = 0;
  #longestMs = 0;
  #lastAt = performance.now();
  #isListing = false;

  /** @param mark as in {@link initProcesses} */
  constructor(socketPath: string, mark: string) {
    this.#engine = new EngineClient({ socketPath, clock: systemClock });
    this.#mark = mark;
    this.#timer = setInterval(() => this.#look(), intervalMs);
  }

  /** The number of checks so far. */
  get size(): string {
    return `${this.#looks} checks of the processes, at most ${Math.round(this.#longestMs)} ms apart, and ${this.#lists} of the engine's list`;
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
        this.#closing.signal,
      )) {
        const uid = labels[instanceLabel] ?? '';
        if (state === 'running') uids.set(uid, (uids.get(uid) ?? 0) + 1);
      }
      this.#lists += 1;
      this.#note('containers', uids);
    } catch (error) {
      // The engine was killed, or this watch was closed.
      if (!(error instanceof EngineError)) this.found.add(String(error));
    } finally {
      this.#isListing = false;
    }
  }

  #note(what: string, counts: ReadonlyMap<string, number>): void {
    for (const [name, count] of counts)
      if (count > 1) this.found.add(`${name} has ${count} running ${what}`);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closing.abort();
  }
}
