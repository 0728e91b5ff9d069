/**
 * The cause of an object's problem, the deepest cause first, and its remedy. The problem of a volume precedes
 * that of the instance that waits for it, and that precedes the service. A volume or snapshot without a problem has that
 * of an object which can't use it.
 *
 * Guarantees:
 * - Causes come from the status of objects, without further probes. Servers and clients pass the objects that they can
 *   read.
 * - {@link causeOf} and {@link explain} are pure; only {@link gather}, {@link worldOfNamespace} and
 *   {@link readExplanation} read.
 *
 * Caveats: an object that the caller may not read counts as absent, so that the cause may be less deep.
 */
export { type Cause, causeOf } from './cause.js';
export { causeText, explain, type Explanation } from './explain.js';
export { newestFirst, readExplanation } from './read-explanation.js';
export { causeByRefusal, refusalReasons, type ReportedEvent } from './refusals.js';
export { nextRetryText, requestsOf, requestText } from './request-text.js';
export { problemOfStorage } from './reported-problem.js';
export { isSettledStatus, isUsableStatus } from './settled-status.js';
export { gather, type Readable, type Reader, worldOfNamespace } from './gather.js';
export {
  emptyWorld,
  explainedKinds,
  type About,
  type ReasonEntry,
  reasonGroups,
  type Remedy,
  type Subject,
  type World,
} from '../reasons/index.js';
