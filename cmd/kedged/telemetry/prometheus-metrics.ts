import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics } from 'kedge';

const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];

/** The metrics port over prom-client; Prometheus scrapes {@link text}. */
export class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #appended: (() => string)[] = [];

  counter({
    name,
    help,
    labels,
  }: Parameters<Metrics['counter']>[0]): ReturnType<Metrics['counter']> {
    const metric = this.#known(name, () => this.#made(Counter, { name, help, labels }));
    return { inc: (values, by = 1) => metric.inc(values, by) };
  }

  gauge({ name, help, labels }: Parameters<Metrics['gauge']>[0]): ReturnType<Metrics['gauge']> {
    const metric = this.#known(name, () => this.#made(Gauge, { name, help, labels }));
    return { set: (values, value) => metric.set(values, value) };
  }

  histogram({
    name,
    help,
    labels,
  }: Parameters<Metrics['histogram']>[0]): ReturnType<Metrics['histogram']> {
    const metric = this.#known(
      name,
      () =>
        new Histogram({
          name,
          help,
          buckets,
          labelNames: [...labels],
          registers: [this.#registry],
        }),
    );
    return { observe: (values, seconds) => metric.observe(values, seconds) };
  }

  /** Adds metrics as text. For objects that come and go: a gauge keeps the series of a deleted object. */
  append(text: () => string): void {
    this.#appended.push(text);
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<string> {
    const own = await this.#registry.metrics();
    return `${own}${this.#appended.map((text) => text()).join('')}`;
  }

  #made<T>(
    type: new (options: {
      name: string;
      help: string;
      labelNames: string[];
      registers: Registry[];
    }) => T,
    { name, help, labels }: { name: string; help: string; labels: readonly string[] },
  ): T {
    return new type({ name, help, labelNames: [...labels], registers: [this.#registry] });
  }

  /** A second registration of a name returns the same metric. */
  #known<T>(name: string, make: () => T): T {
    return (this.#registry.getSingleMetric(name) as T | undefined) ?? make();
  }
}
