/** The scheduler: assigns instances to nodes. */
export { schedulerController, type SchedulerOptions } from './controller.js';
export { placeInstance, type Placement } from './plan.js';
export type { VolumeConstraint } from './volume-node-affinity.js';
