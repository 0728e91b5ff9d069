/**
 * Snapshots: admission (admission.ts), the state machine (phases.ts, plan.ts), its effects and its watches
 * (reconcile/).
 *
 * Guarantees: a source is not deleted while it is copied, nor a snapshot while a volume is restored from it.
 *
 * Caveats: a snapshot contains what the workload has written to the file system; it is not coordinated with the
 * workload.
 */
export { snapshotFinalizer, type SnapshotRuleOptions, snapshotRules } from './admission.js';
export { snapshotController } from './reconcile/controller.js';
export { snapshotObstacle } from './in-use.js';
export { transitions as snapshotTransitions } from './phases.js';
export type { SnapshotControllerOptions } from './reconcile/effects.js';
export { snapshotVerbs } from './verbs.js';
