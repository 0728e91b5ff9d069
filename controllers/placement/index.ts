/**
 * The choice of a node for an instance: volumes, resources and ports.
 *
 * Guarantees: {@link placeInstance} is pure. It chooses only a node that is Ready and schedulable, matches the
 * selector, reaches the volumes and has room for the requests.
 *
 * Caveats: requests are counted, not the measured use.
 */
export { placeInstance } from './plan.js';
export type { VolumeConstraint } from './volume-node-affinity.js';
