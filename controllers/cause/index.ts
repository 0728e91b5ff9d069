/**
 * Why something is not as it should be, the deepest cause first, and what to do about it: what a volume says of
 * itself before what the instance says that waits for it, and that before its service. It reads what objects say
 * already and finds out nothing; servers and clients ask it with the objects that they can read.
 */
export { type Cause, causeOf } from './cause.js';
export { causeText, explain, type Explanation, type ToldEvent } from './explain.js';
export { saidOfStorage } from './said.js';
export { gather, type Readable, type Reader, worldOfNamespace } from './gather.js';
export {
  emptyWorld,
  type About,
  type ReasonEntry,
  reasonGroups,
  type Remedy,
  type Subject,
  type World,
} from '../reasons/index.js';
