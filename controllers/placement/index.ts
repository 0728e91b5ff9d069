/** The choice of a node for an instance: volumes, resources and ports. */
export { placeInstance } from './plan.js';
export type { VolumeConstraint } from './volume-node-affinity.js';
