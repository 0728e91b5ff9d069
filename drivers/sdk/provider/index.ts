/**
 * The core of drivers that call a cloud provider: budget, deadlines, journal, error tables, operations. A driver adds
 * its provider's paths, fields and error table. Nothing of it is loaded before such a driver is used.
 */
export { ActionLanes } from './action-lanes.js';
export { Fields } from './answer-fields.js';
export { CallJournal, type JournaledCall } from './call-journal.js';
export { type ErrorRow, kindByStatus, type Refusal, rowOf } from './error-table.js';
export {
  httpTransport,
  type Transport,
  TransportError,
  type TransportReply,
  type TransportRequest,
} from './http-transport.js';
export { InstanceCache } from './instance-cache.js';
export { machineClock, pauseOn, type ProviderClock, withDeadline } from './provider-clock.js';
export { bytesOf, carryOut, gibOf, inOrder } from './provider-calls.js';
export {
  type ProviderCall,
  ProviderClient,
  type ProviderInterface,
  type ProviderPorts,
} from './provider-client.js';
export { providerDriver } from './provider-driver.js';
export {
  type BudgetReading,
  type CallDurations,
  type PendingReading,
  ProviderTelemetry,
} from './provider-telemetry.js';
export { redacted } from './redact.js';
export { type BudgetRates, RequestBudget } from './request-budget.js';
export { type DeviceLinks, LinkedDevice } from '../block/linked-device.js';
