import { type Clock, type Logger, TimeSlice, type Tracer } from '../../base/index.js';
import type { SharedInformer } from '../../informer/index.js';
import type { ItemBackoff, RateLimitingQueue } from '../../workqueue/index.js';
import { type CauseRegistry, describeCauses, type PendingCauses } from '../watches/causes.js';
import type { ReconcileContext, Reconciler } from './context.js';
import type { ControllerStats } from './controller-stats.js';
import type { Durability } from './durability.js';
import type { ReconcileMetrics } from './reconcile-metrics.js';
import { checkedResult, type Result, retry } from './result.js';
import { RunContext } from './run-context.js';
import { logOutcome } from './run-log.js';

/** Delay of a key whose run could not be settled. */
const unsettledMs = 1_000;

/** Options of runs of keys. */
export interface KeyRunsOptions {
  /** Name of the controller. */
  readonly name: string;
  readonly reconcile: Reconciler<ReconcileContext>;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ReconcileMetrics;
  readonly tracer: Tracer | undefined;
  readonly queue: RateLimitingQueue<string>;
  readonly backoff: ItemBackoff<string>;
  readonly authors: CauseRegistry;
  readonly causes: PendingCauses;
  readonly durability: Durability | undefined;
  /** The informers that the controller watches now. */
  readonly informers: () => ReadonlySet<SharedInformer>;
  /** Called before the run of a key, and when the run is settled. */
  readonly onBegin: (key: string) => void;
  readonly onEnd: (key: string) => void;
}

/** Takes keys from a queue, runs the reconciler for each, and settles the result. */
export class KeyRuns {
  readonly #options: KeyRunsOptions;
  readonly #running = new Set<RunContext>();
  readonly #stats = { reconciles: 0, errors: 0, terminalErrors: 0, timeouts: 0 };

  constructor(options: KeyRunsOptions) {
    this.#options = options;
  }

  /** Number of runs in progress. */
  get active(): number {
    return this.#running.size;
  }

  stats(): Omit<ControllerStats, 'queued' | 'delayed'> {
    const now = this.#options.clock.monotonic();
    const oldest = Math.min(now, ...[...this.#running].map((run) => run.startedAt));
    return { ...this.#stats, active: this.active, longestRunMs: now - oldest };
  }

  /** Aborts all runs. */
  stop(): void {
    for (const run of this.#running) run.stop();
  }

  /** Runs one worker: processes keys until the queue is shut down. */
  async work(): Promise<void> {
    const { queue, logger } = this.#options;
    // Runs that only read caches never yield, so the loop itself must let the event loop run.
    const slice = new TimeSlice(this.#options.clock, { everyStep: true });
    for (;;) {
      let key = queue.tryGet();
      if (key === undefined) {
        const handout = await queue.get();
        if (handout.shutDown) return;
        ({ key } = handout);
      }
      const priority = queue.priority(key);
      this.#options.onBegin(key);
      try {
        const result = await this.#reconcile(key);
        await this.#settle(key, result, priority);
      } catch (error) {
        // A failing port must lose neither the worker nor the key.
        logger.error('the result of a reconcile could not be processed; the key is retried', {
          key,
          error,
        });
        queue.addAfter(key, unsettledMs, priority);
      }
      this.#options.onEnd(key);
      queue.done(key);
      if (slice.due()) await slice.pause();
    }
  }

  async #reconcile(key: string): Promise<Result> {
    const { queue, causes, authors, metrics, clock, logger, durability } = this.#options;
    const context = new RunContext({
      key,
      run: authors.nextRun(),
      failures: queue.failures(key),
      causes: causes.take(key),
      authors,
      timeoutMs: this.#options.timeoutMs,
      onTimeout: () => {
        this.#stats.timeouts += 1;
        metrics.timedOut();
      },
      clock,
      logger,
      durability,
    });
    this.#running.add(context);
    metrics.active(this.#running.size);
    this.#stats.reconciles += 1;
    let result: Result;
    try {
      if (durability?.mustWait(key))
        await durability.awaitOwnWrites(key, this.#options.informers(), context.signal);
      result = checkedResult(await this.#traced(key, context));
    } catch (error) {
      result = retry(error);
    }
    context.end();
    this.#running.delete(context);
    metrics.active(this.#running.size);
    metrics.ended(result, (clock.monotonic() - context.startedAt) / 1_000);
    logOutcome(logger, key, result, context);
    return result;
  }

  #traced(key: string, context: RunContext): Promise<Result> {
    const { reconcile, tracer, name } = this.#options;
    if (!tracer) return reconcile(context);
    const causes = describeCauses(context.causes);
    const attributes = { controller: name, key, run: context.run, causes };
    return tracer.trace('reconcile', attributes, async (span) => {
      const ended = checkedResult(await reconcile(context));
      // The authors of the causes may have become known during the run.
      span.setAttributes({ causes: describeCauses(context.causes) });
      if (ended.type === 'retry') span.recordError(ended.error);
      return ended;
    });
  }

  async #settle(key: string, result: Result, priority: number): Promise<void> {
    const { queue, causes, durability, backoff } = this.#options;
    switch (result.type) {
      case 'done':
        queue.forget(key);
        break;
      case 'requeueAfter':
        queue.forget(key);
        causes.note(key, { type: 'timer' });
        queue.addAfter(key, result.delayMs, result.priority ?? priority);
        break;
      case 'pending':
        queue.forget(key);
        causes.note(key, { type: 'timer' });
        queue.addAfter(key, result.pollAfterMs, priority);
        break;
      case 'retry': {
        this.#stats.errors += 1;
        causes.note(key, { type: 'retry' });
        const delayMs = queue.addRateLimited(key, result.error, priority);
        await durability?.remember(key, result, delayMs, backoff.failures(key));
        return;
      }
      case 'fail':
        this.#stats.terminalErrors += 1;
        break;
    }
    await durability?.settle(key, result);
  }
}
