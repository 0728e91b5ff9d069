/**
 * The scheduler: assigns each instance to a node once, or reports why none fits.
 *
 * Guarantees: an assignment never makes the requests of the instances of a node exceed the capacity that the node
 * reports, and never gives a host port to two instances of a node. The commit fails if the node, a volume or another
 * assignment changed meanwhile.
 *
 * Caveats: it does not move an assigned instance.
 */
export { schedulerController, type SchedulerOptions } from './controller.js';
