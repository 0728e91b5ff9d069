/**
 * Why something does not run, the deepest cause first: what a volume says of itself before what the instance says
 * that waits for it, and that before its service. It reads what objects say already and finds out nothing.
 */
export {
  type Cause,
  causeOfInstance,
  causeOfService,
  causeOfStorage,
  type VolumeLookup,
} from './cause.js';
