/** Attributes of a span, with the value types of OpenTelemetry. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A traced unit of work. */
export interface Span {
  setAttributes(attributes: SpanAttributes): void;
  /** Marks the span as failed. */
  recordError(error: unknown): void;
  end(): void;
}

/** The tracing port; an OpenTelemetry tracer fits through an adapter (docs/guides/observability.md). */
export interface Tracer {
  /** Runs `work` inside a new span, which is the parent of spans that `work` starts. The span ends with `work`. */
  trace<R>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<R>): Promise<R>;
}
