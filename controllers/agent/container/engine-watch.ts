import { type Clock, type Logger, messageOf, sleep } from 'kedge';
import type { EngineOutages } from './outages/engine-outages.js';
import { engineStartedAt } from './outages/engine-starts.js';
import type { EngineClient } from './engine/engine-client.js';
import { type RunIdentity, runOf } from './run-identity.js';

/** Dependencies of {@link EngineWatch}. */
export interface EngineWatchOptions {
  readonly engine: EngineClient;
  readonly cluster: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly outages: EngineOutages;
  /** Called when a workload may have changed. */
  readonly onChange: (id: string) => void;
  /**
   * Called when the engine reports that a container reached its memory limit, in place of `onChange`. `at`: the time of
   * the report, milliseconds since the epoch.
   */
  readonly onMemoryLimit: (run: RunIdentity, container: string, at: number) => void;
  /** Called when every workload may have changed, because the engine was unavailable or events were missed. */
  readonly onGap: () => void;
}

const firstWaitMs = 200;
const longestWaitMs = 5_000;

/**
 * Watches the events of the engine. An event is a hint to observe a workload. Events without a listener are
 * lost, so each new connection reports a gap.
 */
export class EngineWatch {
  readonly #options: EngineWatchOptions;
  readonly #stop = new AbortController();
  #running = false;

  constructor(options: EngineWatchOptions) {
    this.#options = options;
  }

  /** Watches until {@link close}, and reconnects after failures; no-op if it watches already. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  close(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { clock, cluster, engine, logger, onChange, onGap, onMemoryLimit, outages } =
      this.#options;
    const { signal } = this.#stop;
    let waitMs = firstWaitMs;
    let isAway = false;
    let isRecalled = false;
    while (!signal.aborted) {
      try {
        const keepsContainers = await engine.keepsContainers(signal);
        if (!isRecalled) await outages.recall(() => engineStartedAt(engine, signal));
        isRecalled = true;
        const opened = (): void => {
          outages.connected(keepsContainers);
          if (isAway) logger.info('the container engine answers again');
          isAway = false;
          waitMs = firstWaitMs;
          onGap();
        };
        for await (const { action, at, attributes, id } of engine.events(signal, opened)) {
          const run = runOf(attributes);
          if (run?.cluster !== cluster) continue;
          if (action === 'die') outages.seen();
          if (action === 'oom') onMemoryLimit(run, id, at ?? clock.now());
          else onChange(run.id);
        }
      } catch (error) {
        if (signal.aborted) return;
        // Logged once per outage.
        if (!isAway)
          logger.warn('the container engine is no longer reachable', { error: messageOf(error) });
        isAway = true;
      }
      // An engine that stops gracefully ends the stream without an error.
      outages.lost();
      await sleep(clock, waitMs, signal, { background: true });
      waitMs = Math.min(waitMs * 2, longestWaitMs);
    }
  }
}
