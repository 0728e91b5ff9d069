/** The scheduler: assigns instances to nodes. */
export { schedulerController, type SchedulerOptions } from './controller.js';
export { placeInstance, type Placement, type VolumeConstraint } from './plan.js';
