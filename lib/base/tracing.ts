/** Attributes of a span; OpenTelemetry's types of values. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A piece of work being traced. */
export interface Span {
  setAttributes(attributes: SpanAttributes): void;
  /** Marks the span as failed. */
  recordError(error: unknown): void;
  end(): void;
}

/** Tracing as a port; an OpenTelemetry tracer fits through an adapter (docs/guides/observability.md). */
export interface Tracer {
  /** Runs `work` inside a new span that is the parent of spans started within. The span ends with it. */
  trace<R>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<R>): Promise<R>;
}
