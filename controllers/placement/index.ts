/** The choice of a node for an instance: volumes, resources and ports. */
export { placeInstance, type Placement } from './plan.js';
export type { VolumeConstraint } from './volume-node-affinity.js';
