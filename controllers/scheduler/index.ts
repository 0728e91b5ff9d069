/** The scheduler: assigns instances to nodes. */
export { schedulerController, type SchedulerOptions } from './controller.js';
