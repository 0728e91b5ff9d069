import type { MetricLabels, Metrics, MetricSpec } from '../base/index.js';

/** Metrics that record observations for tests: last value or sum by name and labels. */
export class RecordingMetrics implements Metrics {
  readonly #values = new Map<string, number>();
  readonly #specs = new Map<string, MetricSpec>();

  counter(spec: MetricSpec): { inc(labels: MetricLabels, by?: number): void } {
    this.#specs.set(spec.name, spec);
    return { inc: (labels, by = 1) => this.#add(spec, labels, by) };
  }

  gauge(spec: MetricSpec): { set(labels: MetricLabels, value: number): void } {
    this.#specs.set(spec.name, spec);
    return { set: (labels, value) => this.#values.set(id(spec, labels), value) };
  }

  /** Registers a histogram. Observations are counted under its name, and their sum in seconds under `<name>_sum`. */
  histogram(spec: MetricSpec): { observe(labels: MetricLabels, seconds: number): void } {
    this.#specs.set(spec.name, spec);
    return {
      observe: (labels, seconds) => {
        this.#add(spec, labels, 1);
        this.#add({ ...spec, name: `${spec.name}_sum` }, labels, seconds);
      },
    };
  }

  /** The registered metrics. */
  get names(): readonly string[] {
    return [...this.#specs.keys()];
  }

  /** The value of one series; 0 if nothing was recorded. */
  value(name: string, labels: MetricLabels): number {
    return this.#values.get(id({ name }, labels)) ?? 0;
  }

  #add(spec: MetricSpec, labels: MetricLabels, by: number): void {
    const key = id(spec, labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + by);
  }
}

function id({ name }: { readonly name: string }, labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return `${name}{${pairs.sort().join(',')}}`;
}
