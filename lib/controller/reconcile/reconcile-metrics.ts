import type { Counter, Gauge, Histogram, Metrics } from '../../base/index.js';
import type { Result } from './result.js';

const results: Readonly<Record<Result['type'], string>> = {
  done: 'success',
  requeueAfter: 'requeue_after',
  pending: 'pending',
  retry: 'error',
  fail: 'terminal_error',
};

/** The metrics of a controller, under controller-runtime's names. */
export class ReconcileMetrics {
  readonly #controller: string;
  readonly #total: Counter;
  readonly #errors: Counter;
  readonly #terminal: Counter;
  readonly #timeouts: Counter;
  readonly #time: Histogram;
  readonly #active: Gauge;

  constructor(metrics: Metrics, controller: string, concurrency: number) {
    this.#controller = controller;
    const labels = ['controller'];
    const prefix = 'controller_runtime_';
    this.#total = metrics.counter({
      name: `${prefix}reconcile_total`,
      help: 'Reconciles by result',
      labels: ['controller', 'result'],
    });
    this.#errors = metrics.counter({
      name: `${prefix}reconcile_errors_total`,
      help: 'Reconciles that failed and are retried',
      labels,
    });
    this.#terminal = metrics.counter({
      name: `${prefix}terminal_reconcile_errors_total`,
      help: 'Reconciles that failed permanently',
      labels,
    });
    this.#timeouts = metrics.counter({
      name: `${prefix}reconcile_timeouts_total`,
      help: 'Reconciles that exceeded their timeout',
      labels,
    });
    this.#time = metrics.histogram({
      name: `${prefix}reconcile_time_seconds`,
      help: 'Duration of a reconcile',
      labels,
    });
    this.#active = metrics.gauge({
      name: `${prefix}active_workers`,
      help: 'Workers that are reconciling',
      labels,
    });
    metrics
      .gauge({
        name: `${prefix}max_concurrent_reconciles`,
        help: 'Workers of the controller',
        labels,
      })
      .set({ controller }, concurrency);
  }

  active(workers: number): void {
    this.#active.set({ controller: this.#controller }, workers);
  }

  timedOut(): void {
    this.#timeouts.inc({ controller: this.#controller });
  }

  ended(result: Result, seconds: number): void {
    const labels = { controller: this.#controller };
    this.#total.inc({ ...labels, result: results[result.type] });
    if (result.type === 'retry') this.#errors.inc(labels);
    if (result.type === 'fail') this.#terminal.inc(labels);
    this.#time.observe(labels, seconds);
  }
}
