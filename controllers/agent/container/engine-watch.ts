import { type Clock, type Logger, messageOf, sleep } from 'kedge';
import type { EngineClient } from './engine/engine-client.js';
import { runOf } from './run-identity.js';

/** Ports of {@link EngineWatch}. */
export interface EngineWatchOptions {
  readonly engine: EngineClient;
  readonly cluster: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A workload may have changed. */
  readonly onChange: (id: string) => void;
  /** Anything may have changed: the engine was away, or nobody listened. */
  readonly onGap: () => void;
}

const firstWaitMs = 200;
const longestWaitMs = 5_000;

/**
 * Listens to the engine. An event is a hint to look: what happened while nobody listened is not told, so
 * every connection begins with a look at everything.
 */
export class EngineWatch {
  readonly #options: EngineWatchOptions;
  readonly #stop = new AbortController();
  #running = false;

  constructor(options: EngineWatchOptions) {
    this.#options = options;
  }

  /** Listens from now on, until {@link close}. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  close(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { clock, cluster, engine, logger, onChange, onGap } = this.#options;
    const { signal } = this.#stop;
    let waitMs = firstWaitMs;
    let isAway = false;
    while (!signal.aborted) {
      try {
        const opened = (): void => {
          if (isAway) logger.info('the container engine answers again');
          isAway = false;
          waitMs = firstWaitMs;
          onGap();
        };
        for await (const { attributes } of engine.events(signal, opened)) {
          const run = runOf(attributes);
          if (run?.cluster === cluster) onChange(run.id);
        }
      } catch (error) {
        if (signal.aborted) return;
        // Once, not at each try.
        if (!isAway) logger.warn('the container engine went away', { error: messageOf(error) });
        isAway = true;
      }
      await sleep(clock, waitMs, signal, { background: true });
      waitMs = Math.min(waitMs * 2, longestWaitMs);
    }
  }
}
