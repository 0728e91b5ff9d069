import { LeveledLogger, type LogFields, type Logger, type LogLevel } from './logger.js';
import type { Metrics, MetricSpec } from './metrics.js';
import type { Span, SpanAttributes, Tracer } from './tracing.js';

class GuardedLogger extends LeveledLogger {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    super();
    this.#logger = logger;
  }

  child(fields: LogFields): Logger {
    try {
      return new GuardedLogger(this.#logger.child(fields));
    } catch {
      // The fields of the child are missing then, but lines are still written if the logger works.
      return this;
    }
  }

  protected write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    try {
      this.#logger[level](message, fields);
    } catch {
      // A fault of the logger itself can't be logged and must not fail the caller's work.
    }
  }
}

/** Wraps a logger so that its errors do not reach the caller. A line that can't be written is lost. */
export function guardedLogger(logger: Logger): Logger {
  return logger instanceof GuardedLogger ? logger : new GuardedLogger(logger);
}

const guardedAlready = new WeakSet<Metrics>();

/**
 * Wraps metrics so that their errors do not reach the caller. An observation that throws is lost, and the first error
 * of each metric is logged. The registration of a metric may still throw, because it happens during construction.
 */
export function guardedMetrics(metrics: Metrics, logger: Logger): Metrics {
  if (guardedAlready.has(metrics)) return metrics;
  const guard = ({ name }: MetricSpec): ((observe: () => void) => void) => {
    let reported = false;
    return (observe) => {
      try {
        observe();
      } catch (error) {
        if (!reported) logger.error('metric could not be recorded', { metric: name, error });
        reported = true;
      }
    };
  };
  const guarded: Metrics = {
    counter: (spec) => {
      const counter = metrics.counter(spec);
      const safely = guard(spec);
      return { inc: (labels, by) => safely(() => counter.inc(labels, by)) };
    },
    gauge: (spec) => {
      const gauge = metrics.gauge(spec);
      const safely = guard(spec);
      return { set: (labels, value) => safely(() => gauge.set(labels, value)) };
    },
    histogram: (spec) => {
      const histogram = metrics.histogram(spec);
      const safely = guard(spec);
      return { observe: (labels, seconds) => safely(() => histogram.observe(labels, seconds)) };
    },
  };
  guardedAlready.add(guarded);
  return guarded;
}

const noSpan: Span = {
  setAttributes: () => undefined,
  recordError: () => undefined,
  end: () => undefined,
};

/**
 * Wraps a tracer so that its errors do not reach the caller. The work runs exactly once, and the
 * caller gets its outcome.
 */
export function guardedTracer(tracer: Tracer, logger: Logger): Tracer {
  const logError = (error: unknown): void => logger.error('tracer threw', { error });
  const guardedSpan = (span: Span): Span => {
    const safely = (use: () => void): void => {
      try {
        use();
      } catch (error) {
        logError(error);
      }
    };
    return {
      setAttributes: (attributes: SpanAttributes) => safely(() => span.setAttributes(attributes)),
      recordError: (error: unknown) => safely(() => span.recordError(error)),
      end: () => safely(() => span.end()),
    };
  };
  return {
    async trace<R>(
      name: string,
      attributes: SpanAttributes,
      work: (span: Span) => Promise<R>,
    ): Promise<R> {
      let begun: Promise<R> | undefined;
      const once = (span: Span): Promise<R> => {
        begun ??= work(guardedSpan(span));
        // The tracer may drop this promise; the outcome of the work is awaited below.
        begun.catch(() => undefined);
        return begun;
      };
      let failure: unknown;
      try {
        await tracer.trace(name, attributes, once);
      } catch (error) {
        failure = error;
      }
      if (begun) {
        // A failure of the work itself reaches the caller through its own promise.
        const ended = await Promise.allSettled([begun]);
        const own = ended[0].status === 'rejected' && ended[0].reason === failure;
        if (failure !== undefined && !own) logError(failure);
        return begun;
      }
      logError(failure ?? new TypeError('the tracer did not run the work'));
      return work(noSpan);
    },
  };
}
