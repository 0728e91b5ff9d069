/** The scheduler: which node an instance runs on. */
export { schedulerController, type SchedulerOptions } from './controller.js';
export { placeInstance, type Placement, type VolumeConstraint } from './plan.js';
