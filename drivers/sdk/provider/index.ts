/**
 * The common part of drivers for cloud providers: request budgets, deadlines, journals, error tables and operations. A
 * driver adds the paths, fields and error table of its provider. This module is loaded when the first such driver is
 * used.
 */
export { Fields } from '../http/answer-fields.js';
export { CallJournal } from '../http/call-journal.js';
export { type ErrorRow, kindByStatus, type Refusal, rowOf } from '../http/error-table.js';
export {
  httpTransport,
  isHostUnknown,
  type Transport,
  TransportError,
  type TransportReply,
  type TransportRequest,
} from '../http/http-transport.js';
export {
  absent,
  done,
  isKind,
  notYet,
  stateAfter,
  uncertainCreation,
  underWay,
} from './answers.js';
export { MachineActions, observedAfter } from './machine-actions.js';
export { InstanceCache } from './instance-cache.js';
export { machineClock, pauseOn, type ProviderClock, withDeadline } from '../http/provider-clock.js';
export { type Caller, callersWith, classCalls, provisioned } from './callers.js';
export {
  bytesOf,
  type CallOrder,
  carryOut,
  deleteFound,
  endDeletion,
  gibOf,
  inOrder,
} from './provider-calls.js';
export type { ProviderCall, SignedRequest } from '../http/provider-call.js';
export {
  ProviderClient,
  type ProviderInterface,
  type ProviderPorts,
} from '../http/provider-client.js';
export {
  folderPlace,
  loadOptional,
  type OptionalPackage,
  ownPlace,
  type PackagePlace,
  placeOf,
  requireInstalled,
} from './optional-package.js';
export { inTurns, loadedFirst, once } from './package-load.js';
export { endpointReport, packageReport, probed, withoutCredential } from './probe-reports.js';
export { providerName, volumeName } from './provider-names.js';
export { providerDriver } from './provider-driver.js';
export { SharedListings } from './shared-listings.js';
export {
  type BudgetReading,
  type CallDurations,
  type PendingReading,
  ProviderTelemetry,
} from '../http/provider-telemetry.js';
export { redacted } from '../http/redact.js';
export { type BudgetRates, RequestBudget } from '../http/request-budget.js';
export { type DeviceLinks, LinkedDevice } from '../block/linked-device.js';
