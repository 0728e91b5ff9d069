/**
 * Volumes: admission (admission.ts), the state machine (states/), its effects and its watches (reconcile/), and the
 * choice of a topology (place/).
 *
 * Guarantees:
 * - The intent is stored before a driver is called, and the outcome is determined before the next step.
 * - The data of a used volume is deleted only by reclaim policy `delete`, or by `retention` of its service.
 * - {@link planVolume} is pure.
 *
 * Caveats: a volume waits without limit while the outcome of a call is unknown. Conditions report the wait.
 */
export {
  classNameOf,
  volumeFinalizer,
  type VolumeRuleOptions,
  volumeRules,
} from './admission.js';
export { attachmentChanges } from './attachment-changes.js';
export { rearm, volumeController } from './reconcile/controller.js';
export { keyOfVolume, type VolumeControllerOptions } from './reconcile/effects.js';
export { detached, fileSystemPending } from './reconcile/upkeep.js';
export { deleteUnused, deletionObstacle } from './rules/in-use.js';
export {
  nextPhase,
  type NextVolumePhase,
  transitions,
  type VolumeEvent,
  volumeStates,
} from './states/phases.js';
export { isDeletionUnderWay } from './states/deletion-report.js';
export {
  effectivePolicy,
  planVolume,
  type VolumeAction,
  type VolumeSituation,
} from './states/plan.js';
export { reportedConditions, reportedOfVolume } from './states/reported.js';
export { volumeVerbs } from './verbs.js';
