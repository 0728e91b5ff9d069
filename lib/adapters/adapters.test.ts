import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import { pino } from 'pino';
import { openTelemetryMetrics, openTelemetryTracer } from './opentelemetry.js';
import { pinoLogger } from './pino.js';

describe('OpenTelemetry adapter', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  before(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  after(async () => {
    context.disable();
    await provider.shutdown();
  });
  afterEach(() => exporter.reset());

  it('makes spans with their parent and attributes', async () => {
    const tracer = openTelemetryTracer(provider.getTracer('test'));
    await tracer.trace('reconcile', { key: 'a' }, async (span) => {
      span.setAttributes({ run: 2 });
      await tracer.trace('effect', {}, () => Promise.resolve());
      expect(trace.getActiveSpan()?.isRecording()).to.equal(true);
    });
    const [inner, outer] = exporter.getFinishedSpans();
    expect(outer?.name).to.equal('reconcile');
    expect(outer?.attributes).to.deep.equal({ key: 'a', run: 2 });
    expect(inner?.parentSpanContext?.spanId).to.equal(outer?.spanContext().spanId);
  });

  it('marks a span whose work throws as failed, ends it, and rethrows the error', async () => {
    const tracer = openTelemetryTracer(provider.getTracer('test'));
    const failed = tracer.trace('reconcile', {}, () => Promise.reject(new Error('no disk')));
    expect(await failed.catch(String)).to.equal('Error: no disk');
    const [span] = exporter.getFinishedSpans();
    expect(span?.status).to.deep.equal({ code: 2, message: 'no disk' });
    expect(span?.events[0]?.name).to.equal('exception');
  });

  it('feeds counters, gauges and histograms by label, with one instrument per name', async () => {
    const exported = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter: exported });
    const meters = new MeterProvider({ readers: [reader] });
    const metrics = openTelemetryMetrics(meters.getMeter('test'));
    const spec = { name: 'workqueue_adds_total', help: 'adds', labels: ['name'] };
    metrics.counter(spec).inc({ name: 'x' });
    metrics.counter(spec).inc({ name: 'x' }, 2);
    metrics.gauge({ ...spec, name: 'workqueue_depth' }).set({ name: 'x' }, 7);
    metrics.histogram({ ...spec, name: 'seconds' }).observe({ name: 'x' }, 0.5);
    await reader.forceFlush();
    const found = exported
      .getMetrics()
      .flatMap((resource) => resource.scopeMetrics)
      .flatMap((scope) => scope.metrics);
    const values = found.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints[0]?.attributes,
      dataPoints[0]?.value,
    ]);
    expect(values[0]).to.deep.equal(['workqueue_adds_total', { name: 'x' }, 3]);
    expect(values[1]).to.deep.equal(['workqueue_depth', { name: 'x' }, 7]);
    expect(values[2]?.[2]).to.include({ sum: 0.5, count: 1 });
    await meters.shutdown();
  });
});

describe('pino adapter', () => {
  it('writes message and fields in one line, child loggers with their fields, errors with their stacks', () => {
    const lines: string[] = [];
    const log = pinoLogger(
      pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) }),
    );
    log.child({ controller: 'lamp' }).warn('reconcile failed', { error: new Error('no disk') });
    const line = JSON.parse(lines[0] ?? '{}') as Record<string, unknown>;
    expect(line).to.include({ level: 40, msg: 'reconcile failed', controller: 'lamp' });
    expect(line['error']).to.include({ type: 'Error', message: 'no disk' });
    expect((line['error'] as { stack: string }).stack).to.contain('adapters.test');
  });
});
