import { readRun } from './logs/run-log.js';
import type { EngineContainers } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';

/** Exit codes for a command that was not found, and for one that can't be executed. */
const refusalCodes = [126, 127];
const charactersMax = 500;
/** Maximum number of ended containers whose result is cached. */
const knownMax = 10_000;

/** A container that has ended. */
export interface EndedRun {
  readonly container: string;
  readonly run: number;
  readonly exitCode: number | undefined;
}

/**
 * The errors of commands that could not be executed, by ended container. Results are cached, because they do not
 * change.
 */
export class StartRefusals {
  readonly #containers: EngineContainers;
  readonly #signal: AbortSignal;
  readonly #known = new Map<string, string | undefined>();

  constructor(containers: EngineContainers, signal: AbortSignal) {
    this.#containers = containers;
    this.#signal = signal;
  }

  /**
   * The error of the command; undefined if it was executed, or the container has no init process. The init process
   * starts in any case, and its last line reports the error.
   */
  async of(end: EndedRun): Promise<string | undefined> {
    const { container, exitCode } = end;
    if (exitCode === undefined || !refusalCodes.includes(exitCode)) return undefined;
    if (this.#known.has(container)) return this.#known.get(container);
    const refused = await this.#read(end);
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.set(container, refused);
    return refused;
  }

  async #read({ container, run }: EndedRun): Promise<string | undefined> {
    const query = { follow: false, tail: 5 };
    const lines = readRun(this.#containers, { run, container }, query, this.#signal);
    try {
      for await (const { content } of lines) {
        const [, why] = /^\[FATAL tini \(\d+\)\] (exec .+)$/.exec(content) ?? [];
        if (why !== undefined) return why.slice(0, charactersMax);
      }
    } catch (error) {
      // A damaged log must not delay the next run.
      if (!isEngineError(error, 'Failed')) throw error;
    }
    return undefined;
  }
}
