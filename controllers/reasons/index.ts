/**
 * The reasons of conditions, each with its remedy. It imports no kind: every controller may import it.
 *
 * Guarantees: a reason outside of the table does not compile. Each reason of a problem has a remedy.
 *
 * Caveats: a remedy reads the message of its release; for the message of another release it may be less specific.
 */
export type { ReasonEntry } from './reason.js';
export type { Remedy } from './remedy.js';
export { entryOf, type Reason, reasonGroups } from './table.js';
export { namedVolumes } from './storage-subject.js';
export { type NewCondition, setCondition } from './set-condition.js';
export {
  type About,
  emptyWorld,
  explainedKinds,
  findByKey,
  labelOfSubject,
  readKinds,
  type ReadKind,
  type Subject,
  type SubjectOf,
  type World,
} from './world.js';
