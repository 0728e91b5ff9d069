/** Label values of a metric, by label name. */
export type MetricLabels = Readonly<Record<string, string>>;

/** The registration of a metric: Prometheus' name and help, and its label names. */
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** A value that only increases. */
export interface Counter {
  inc(labels: MetricLabels, by?: number): void;
}

/** A value that increases and decreases. */
export interface Gauge {
  set(labels: MetricLabels, value: number): void;
}

/** Counts observations into buckets, in seconds. */
export interface Histogram {
  observe(labels: MetricLabels, seconds: number): void;
}

/**
 * The metrics port, small enough for an adapter of ten lines to prom-client or OpenTelemetry
 * (docs/guides/observability.md). Registering a name twice must return the same metric.
 */
export interface Metrics {
  counter(spec: MetricSpec): Counter;
  gauge(spec: MetricSpec): Gauge;
  histogram(spec: MetricSpec): Histogram;
}

const nothing = (): void => undefined;

/** Metrics that discard every observation. */
export const noMetrics: Metrics = {
  counter: () => ({ inc: nothing }),
  gauge: () => ({ set: nothing }),
  histogram: () => ({ observe: nothing }),
};
