import type { Clock } from 'kedge';
import type { ProviderPorts } from '@kedge/driver-sdk';
import type { ProviderTelemetry } from '@kedge/driver-sdk/provider';
import type { PrometheusMetrics } from './prometheus-metrics.js';

const durations = {
  name: 'kedge_provider_operations_seconds',
  help: 'Durations of calls of cloud providers, by driver, call and kind of the error; empty for success',
  labels: ['driver', 'call', 'error'],
};

/** Returns the clock and the metrics of provider calls. No metric is registered before a driver calls a provider. */
export function providerPorts(metrics: PrometheusMetrics, clock: Clock): ProviderPorts {
  const used: ProviderTelemetry[] = [];
  return {
    clock,
    durations: {
      observe: (labels, seconds) => metrics.histogram(durations).observe(labels, seconds),
    },
    onTelemetry: (telemetry) => {
      if (used.length === 0) metrics.append(() => readings(used));
      used.push(telemetry);
    },
  };
}

/** The present readings. The series of a removed credential or operation disappears. */
function readings(all: readonly ProviderTelemetry[]): string {
  const budgets = all
    .flatMap((telemetry) => telemetry.budgets())
    .map(({ driver, credential, left }) => [`driver="${driver}",credential="${credential}"`, left]);
  const ages = all
    .flatMap((telemetry) => telemetry.oldestPending())
    .map(({ driver, seconds }) => [`driver="${driver}"`, seconds]);
  return [
    ...gauge(
      'kedge_provider_budget_left',
      'Requests that may be made at once with a credential; it is named by an identifier of this process',
      budgets,
    ),
    ...gauge(
      'kedge_provider_oldest_pending_operation_seconds',
      'Age of the oldest operation in progress at a provider, since this process saw it first',
      ages,
    ),
  ].join('');
}

function gauge(
  name: string,
  help: string,
  samples: readonly (readonly (string | number)[])[],
): readonly string[] {
  if (samples.length === 0) return [];
  const lines = samples.map(([labels = '', value = 0]) => `${name}{${labels}} ${value}\n`);
  return [`# HELP ${name} ${help}\n`, `# TYPE ${name} gauge\n`, ...lines];
}
