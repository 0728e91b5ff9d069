/**
 * Controllers: watches feed keys into a queue, workers reconcile them.
 *
 * - A reconciler gets a name and finds out the rest itself (level-triggered).
 * - One worker a key; failures back off; a reconcile has a time limit.
 * - Workers start only when every cache has synced.
 *
 * Not promised: one reconcile per change. Many changes may be one run, one change may be several.
 */
export {
  Controller,
  newController,
  type ControllerOptions,
  type ControllerStats,
  type Predicate,
  type Reconciler,
  type Request,
} from './controller.js';
export { done, fail, requeueAfter, retry, type Result } from './result.js';
