/**
 * Volumes: admission, the state machine (phases.ts, plan.ts), its effects
 * (reconciler.ts), and what wakes it (controller.ts).
 * Intent is stored before a driver is called; every outcome is known or observed before it is acted on.
 */
export {
  classNameOf,
  shapeViolations,
  volumeFinalizer,
  type VolumeRuleOptions,
  volumeRules,
  type VolumeShape,
} from './admission.js';
export { rearm, volumeController } from './controller.js';
export type { VolumeControllerOptions } from './reconciler.js';
export { driverCall, identityOf } from './driver-call.js';
export { nextPhase, transitions, type VolumeEvent } from './phases.js';
export { effectivePolicy, planVolume, type VolumeAction, type VolumeSituation } from './plan.js';
export { volumeVerbs } from './verbs.js';
