import type { Clock, Metrics } from '../base/index.js';

/** The metrics of a queue, with client-go's names. Times are kept only for keys that are waiting or being processed. */
export class QueueMetrics<K> {
  readonly #clock: Clock;
  readonly #labels: { readonly name: string };
  readonly #addedAt = new Map<K, number>();
  readonly #startedAt = new Map<K, number>();
  readonly #depth;
  readonly #adds;
  readonly #retries;
  readonly #queueDuration;
  readonly #workDuration;
  readonly #unfinished;
  readonly #longest;

  constructor(metrics: Metrics, clock: Clock, name: string) {
    this.#clock = clock;
    this.#labels = { name };
    const labels = ['name'];
    const spec = (
      suffix: string,
      help: string,
    ): { name: string; help: string; labels: string[] } => ({
      name: `workqueue_${suffix}`,
      help,
      labels,
    });
    this.#depth = metrics.gauge(spec('depth', 'Keys waiting in the queue'));
    this.#adds = metrics.counter(spec('adds_total', 'Keys added to the queue'));
    this.#retries = metrics.counter(spec('retries_total', 'Keys added again after a failure'));
    this.#queueDuration = metrics.histogram(
      spec('queue_duration_seconds', 'Time from the addition of a key to its processing'),
    );
    this.#workDuration = metrics.histogram(
      spec('work_duration_seconds', 'Processing time of a key'),
    );
    this.#unfinished = metrics.gauge(
      spec('unfinished_work_seconds', 'Seconds of work in progress, summed over all workers'),
    );
    this.#longest = metrics.gauge(
      spec('longest_running_processor_seconds', 'Seconds since the longest running worker started'),
    );
  }

  added(key: K, depth: number): void {
    if (!this.#addedAt.has(key)) {
      this.#addedAt.set(key, this.#clock.monotonic());
      this.#adds.inc(this.#labels);
    }
    this.#depth.set(this.#labels, depth);
  }

  started(key: K, depth: number): void {
    const now = this.#clock.monotonic();
    this.#queueDuration.observe(this.#labels, (now - (this.#addedAt.get(key) ?? now)) / 1_000);
    this.#addedAt.delete(key);
    this.#startedAt.set(key, now);
    this.#depth.set(this.#labels, depth);
  }

  done(key: K, depth: number): void {
    const startedAt = this.#startedAt.get(key);
    this.#depth.set(this.#labels, depth);
    if (startedAt === undefined) return;
    this.#startedAt.delete(key);
    this.#workDuration.observe(this.#labels, (this.#clock.monotonic() - startedAt) / 1_000);
  }

  retried(): void {
    this.#retries.inc(this.#labels);
  }

  /** Updates the gauges of running work; call it periodically. */
  refresh(): void {
    const now = this.#clock.monotonic();
    const ages = [...this.#startedAt.values()].map((at) => (now - at) / 1_000);
    this.#unfinished.set(
      this.#labels,
      ages.reduce((sum, age) => sum + age, 0),
    );
    this.#longest.set(this.#labels, Math.max(0, ...ages));
  }

  /** Forgets waiting keys and sets the depth to 0, after a shutdown. Keys in process are still measured. */
  clear(): void {
    this.#addedAt.clear();
    this.#depth.set(this.#labels, 0);
  }
}
