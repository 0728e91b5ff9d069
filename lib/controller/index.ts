/**
 * Controllers: watches feed keys into a queue, workers reconcile them.
 *
 * - A reconciler gets a name and finds out the rest itself (level-triggered).
 * - One worker a key; failures back off; a reconcile has a time limit.
 * - Workers start only when every cache has synced.
 *
 * Not promised: one reconcile per change. Many changes may be one run, one change may be several.
 */
export { Controller, newController } from './controller.js';
export type {
  ControllerOptions,
  ControllerStats,
  StoreControllerOptions,
  WatchHandle,
} from './controller-options.js';
export { type Author, type Cause, CauseRegistry, describeCauses } from './causes.js';
export type { ReconcileContext, Reconciler, Request } from './context.js';
export { type Event, EventRecorder, type EventRecorderOptions, events } from './events.js';
export {
  collected,
  type CollectedKind,
  type GarbageCollectorOptions,
  newGarbageCollector,
} from './garbage-collector.js';
export type {
  EffectCall,
  EffectOperation,
  EffectOutcome,
  EffectPending,
  EffectStart,
  Json,
  OperationIds,
} from './effect.js';
export { effectViolations } from './effect-shape.js';
export { type EffectRecord, effectRecords, type EffectState } from './effect-records.js';
export { type ReconcileRecord, reconcileRecords } from './journal.js';
export { operationIds, type OperationIdsOptions } from './operation-ids.js';
export * from './predicates.js';
export { reconcileObject } from './reconcile-object.js';
export { done, fail, pending, requeueAfter, retry, type Result } from './result.js';
export { runTxn } from './run-txn.js';
export type { Transaction } from './transaction.js';
export type { ReadSelection, StatusPath, Watching } from './transaction-reads.js';
