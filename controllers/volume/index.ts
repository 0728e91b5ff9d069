/**
 * Volumes: admission, the state machine (phases.ts, plan.ts), its effects
 * (reconciler.ts: provisioning.ts, upkeep.ts, reclaim.ts), and what wakes it (controller.ts).
 * Intent is stored before a driver is called; every outcome is known or observed before it is acted on.
 */
export {
  classNameOf,
  volumeFinalizer,
  type VolumeRuleOptions,
  volumeRules,
} from './admission.js';
export { rearm, volumeController } from './controller.js';
export { keyOfVolume, type VolumeControllerOptions } from './effects.js';
export { detached, fileSystemPending } from './upkeep.js';
export { deleteUnused, deletionObstacle } from './in-use.js';
export { judgeFailure } from './failure.js';
export { driverCall, identityOf } from './driver-call.js';
export {
  operationsOfSnapshot,
  operationsOfVolume,
  releaseObject,
  underWay,
} from './operations.js';
export {
  nextPhase,
  type NextVolumePhase,
  transitions,
  type VolumeEvent,
  volumeStates,
} from './phases.js';
export {
  deletedCondition,
  isDeletionAsked,
  isDeletionDone,
  waitsReason,
} from './deletion-report.js';
export { isUntold } from './handover.js';
export { homeOf, nodesOf, ownerOf, type VolumeOwner } from './owner.js';
export { effectivePolicy, planVolume, type VolumeAction, type VolumeSituation } from './plan.js';
export {
  callAgain,
  driverErrorOf,
  requireSeen,
  requireTurn,
  retryDelayMs,
  shownTime,
  writeStatus,
} from './retries.js';
export { type Part, type Turn, turnOf } from './turn.js';
export {
  reportedConditions,
  reportedOfSnapshot,
  reportedOfVolume,
  reportOf,
} from './reported.js';
export { volumeVerbs } from './verbs.js';
