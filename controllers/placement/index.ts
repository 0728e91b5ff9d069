/**
 * The choice of a node for an instance: volumes, resources, ports, and nominations of instances that wait.
 *
 * Guarantees: {@link placeInstance} is pure. It chooses only a node that is Ready and schedulable, matches the
 * selector, reaches the volumes and has room for the requests. {@link takingFrom} makes a commit fail if another
 * instance gets the room meanwhile.
 *
 * Caveats: requests are counted, not the measured use.
 */
export { takingFrom } from './committed.js';
export {
  isAt,
  isNominated,
  isSettled,
  type Nomination,
  nominationMs,
  type NominationSources,
  occupantsOf,
} from './nominations.js';
export { withFitting } from './node-room.js';
export { placeInstance, type Placement } from './plan.js';
export type { VolumeConstraint } from './volume-node-affinity.js';
