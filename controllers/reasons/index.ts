/** The reasons of conditions, each with its remedy. It imports no kind: every controller may import it. */
export type { ReasonEntry } from './reason.js';
export type { Remedy } from './remedy.js';
export { entryOf, type Reason, reasonGroups } from './table.js';
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
