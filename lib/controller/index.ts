/**
 * Controllers: watches feed keys into a queue, workers reconcile them.
 *
 * - A reconciler gets a key and reads the present state itself (level-triggered).
 * - One worker per key; failures back off; a reconcile has a timeout.
 * - Workers start only when every cache has synced.
 *
 * Not guaranteed: one reconcile per change. Many changes may cause one run, one change several.
 */
export { Controller } from './controller.js';
export { newController } from './new-controller.js';
export type { ControllerOptions, StoreControllerOptions } from './controller-options.js';
export type { ControllerStats } from './reconcile/controller-stats.js';
export type { WatchHandle, WatchMap } from './watches/watches.js';
export { type Author, type Cause, CauseRegistry, describeCauses } from './watches/causes.js';
export type { ReconcileContext, Reconciler, Request } from './reconcile/context.js';
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
} from './effects/effect.js';
export { effectViolations } from './effects/effect-shape.js';
export { type EffectRecord, effectRecords, type EffectState } from './effects/effect-records.js';
export { type ReconcileRecord, reconcileRecords } from './effects/journal.js';
export { operationIds, type OperationIdsOptions } from './effects/operation-ids.js';
export * from './watches/predicates.js';
export { reconcileObject } from './reconcile/reconcile-object.js';
export { done, fail, pending, requeueAfter, retry, type Result } from './reconcile/result.js';
export { runTxn } from './transactions/run-txn.js';
export type { Transaction } from './transactions/transaction-contract.js';
export type { ReadSelection, StatusPath, Watching } from './transactions/transaction-reads.js';
