/**
 * The scheduler: assigns each instance to a node once, or reports why none fits. It does not move an assigned instance.
 */
export { schedulerController, type SchedulerOptions } from './controller.js';
