// The entry point `kedge/opentelemetry`. Its package is an optional peer, so its absence is reported first.
import { requirePeers } from '../base/peers.js';

requirePeers('kedge/opentelemetry', ['@opentelemetry/api']);
export const { openTelemetryMetrics, openTelemetryTracer } = await import(
  '../adapters/opentelemetry.js'
);
