import {
  type Attributes,
  type Meter,
  SpanStatusCode,
  type Tracer as OpenTelemetryTracer,
} from '@opentelemetry/api';
import { type Metrics, messageOf, type Tracer } from '../base/index.js';

/**
 * Reports reconciles as OpenTelemetry spans. Spans that a reconciler starts through the same API become children if a
 * context manager is registered.
 */
export function openTelemetryTracer(tracer: OpenTelemetryTracer): Tracer {
  return {
    trace: (name, attributes, work) =>
      tracer.startActiveSpan(name, { attributes: { ...attributes } }, async (span) => {
        const recordError = (error: unknown): void => {
          span.recordException(error instanceof Error ? error : messageOf(error));
          span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
        };
        try {
          return await work({
            setAttributes: (more) => void span.setAttributes({ ...more }),
            recordError,
            end: () => span.end(),
          });
        } catch (error) {
          recordError(error);
          throw error;
        } finally {
          span.end();
        }
      }),
  };
}

/**
 * Reports the library's metrics as instruments of an OpenTelemetry meter, under the names that the library gives them.
 * Histograms are in seconds.
 */
export function openTelemetryMetrics(meter: Meter): Metrics {
  const made = new Map<string, unknown>();
  const once = <T>(name: string, make: () => T): T => {
    // The port requires one instrument per name; OpenTelemetry warns about duplicates.
    const known = made.get(name) as T | undefined;
    if (known !== undefined) return known;
    const instrument = make();
    made.set(name, instrument);
    return instrument;
  };
  const attributes = (labels: Readonly<Record<string, string>>): Attributes => ({ ...labels });
  return {
    counter: ({ name, help: description }) => {
      const counter = once(name, () => meter.createCounter(name, { description }));
      return { inc: (labels, by = 1) => counter.add(by, attributes(labels)) };
    },
    gauge: ({ name, help: description }) => {
      const gauge = once(name, () => meter.createGauge(name, { description }));
      return { set: (labels, value) => gauge.record(value, attributes(labels)) };
    },
    histogram: ({ name, help: description }) => {
      const histogram = once(name, () => meter.createHistogram(name, { description, unit: 's' }));
      return { observe: (labels, seconds) => histogram.record(seconds, attributes(labels)) };
    },
  };
}
