import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { ProviderTelemetry } from '@kedge/driver-sdk/provider';
import { PrometheusMetrics } from './prometheus-metrics.js';
import { providerPorts } from './provider-metrics.js';

describe('the metrics of provider calls', () => {
  const name = 'kedge_provider_oldest_pending_operation_seconds';

  it('have the age of the oldest operation in progress of each driver, until it has ended', async () => {
    const metrics = new PrometheusMetrics();
    const clock = new FakeClock();
    const ports = providerPorts(metrics, clock);
    const telemetry = new ProviderTelemetry(ports.durations, clock);
    ports.onTelemetry?.(telemetry);
    expect(await metrics.text()).not.to.contain(name);
    telemetry.wentOn('cloud1-volume', 'attach a');
    await clock.advance(30_000);
    telemetry.wentOn('cloud1-volume', 'attach b');
    telemetry.wentOn('cloud2-volume', 'attach c');
    await clock.advance(12_000);
    // It is still the same operation.
    telemetry.wentOn('cloud1-volume', 'attach a');
    const text = await metrics.text();
    expect(text).to.contain(`# TYPE ${name} gauge\n`);
    expect(text).to.contain(`${name}{driver="cloud1-volume"} 42\n`);
    expect(text).to.contain(`${name}{driver="cloud2-volume"} 12\n`);
    telemetry.ended('cloud1-volume', 'attach a');
    expect(await metrics.text()).to.contain(`${name}{driver="cloud1-volume"} 12\n`);
    telemetry.ended('cloud1-volume', 'attach b');
    telemetry.ended('cloud2-volume', 'attach c');
    expect(await metrics.text()).not.to.contain(name);
  });

  it('have the durations of calls by driver, call and kind of the error', async () => {
    const metrics = new PrometheusMetrics();
    const { durations } = providerPorts(metrics, new FakeClock());
    const telemetry = new ProviderTelemetry(durations, new FakeClock());
    telemetry.called('cloud2-volume', 'attachVolume', 'Throttled', 2);
    expect(await metrics.text()).to.contain(
      'kedge_provider_operations_seconds_sum{driver="cloud2-volume",call="attachVolume",error="Throttled"} 2',
    );
  });
});
