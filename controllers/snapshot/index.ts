/**
 * Snapshots: admission, the state machine (phases.ts, plan.ts), its effects (reconciler.ts), its watches
 * (controller.ts). A source is protected while it is copied, a snapshot while it is restored.
 */
export { snapshotFinalizer, type SnapshotRuleOptions, snapshotRules } from './admission.js';
export { snapshotController } from './reconcile/controller.js';
export { snapshotObstacle } from './in-use.js';
export { transitions as snapshotTransitions } from './phases.js';
export type { SnapshotControllerOptions } from './reconcile/effects.js';
export { snapshotVerbs } from './verbs.js';
