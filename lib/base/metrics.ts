/** Label values of a metric, by label name. */
export type MetricLabels = Readonly<Record<string, string>>;

/** A metric as it is registered: Prometheus' name and help, and the label names it has. */
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Only goes up. */
export interface Counter {
  inc(labels: MetricLabels, by?: number): void;
}

/** Goes up and down. */
export interface Gauge {
  set(labels: MetricLabels, value: number): void;
}

/** Counts observations into buckets, in seconds. */
export interface Histogram {
  observe(labels: MetricLabels, seconds: number): void;
}

/**
 * Metrics as a port, small enough for an adapter of ten lines to prom-client or OpenTelemetry
 * (docs/guides/observability.md). Registering one name twice must give the same metric.
 */
export interface Metrics {
  counter(spec: MetricSpec): Counter;
  gauge(spec: MetricSpec): Gauge;
  histogram(spec: MetricSpec): Histogram;
}

const nothing = (): void => undefined;

/** Measures nothing. */
export const noMetrics: Metrics = {
  counter: () => ({ inc: nothing }),
  gauge: () => ({ set: nothing }),
  histogram: () => ({ observe: nothing }),
};
