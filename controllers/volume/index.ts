/**
 * Volumes: admission, the state machine (phases.ts, plan.ts), its effects (reconciler.ts: provisioning.ts,
 * upkeep.ts, reclaim.ts), and its watches (controller.ts). The intent is stored before a driver is called, and the
 * outcome is determined before the next step.
 */
export {
  classNameOf,
  volumeFinalizer,
  type VolumeRuleOptions,
  volumeRules,
} from './admission.js';
export { rearm, volumeController } from './reconcile/controller.js';
export { keyOfVolume, type VolumeControllerOptions } from './reconcile/effects.js';
export { detached, fileSystemPending } from './reconcile/upkeep.js';
export { deleteUnused, deletionObstacle } from './rules/in-use.js';
export { judgeFailure } from './states/failure.js';
export { driverCall, identityOf } from './reconcile/driver-call.js';
export {
  operationsOfSnapshot,
  operationsOfVolume,
  releaseObject,
  underWay,
} from './states/operations.js';
export {
  nextPhase,
  type NextVolumePhase,
  transitions,
  type VolumeEvent,
  volumeStates,
} from './states/phases.js';
export {
  deletedCondition,
  isDeletionDone,
  isDeletionUnderWay,
  waitsReason,
} from './states/deletion-report.js';
export { isUntold } from './reconcile/handover.js';
export { homeOf, nodesOf, ownerOf, type VolumeOwner } from './states/owner.js';
export {
  effectivePolicy,
  planVolume,
  type VolumeAction,
  type VolumeSituation,
} from './states/plan.js';
export {
  callAgain,
  driverErrorOf,
  requireSeen,
  requireTurn,
  retryDelayMs,
  shownTime,
  writeStatus,
} from './reconcile/retries.js';
export { type Part, type Turn, turnOf } from './reconcile/turn.js';
export {
  reportedConditions,
  reportedOfSnapshot,
  reportedOfVolume,
  reportOf,
} from './states/reported.js';
export { volumeVerbs } from './verbs.js';
