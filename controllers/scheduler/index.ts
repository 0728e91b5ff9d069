/**
 * The scheduler: assigns each instance to a node once, or reports why none fits.
 *
 * Guarantees: the requests of the instances of a node never exceed its capacity at an assignment, and two instances of
 * a node never get the same host port. The commit fails if the node, a volume or another assignment changed meanwhile.
 *
 * Caveats: it does not move an assigned instance.
 */
export { schedulerController, type SchedulerOptions } from './controller.js';
