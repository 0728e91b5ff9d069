/**
 * Events: changes of objects, for operators.
 *
 * Guarantees:
 * - An event expires a day after its last write.
 * - {@link transitionsOf} is pure: at most one event for each condition whose status or reason changed, or one for the status.
 *
 * Caveats:
 * - A different message alone is not an event.
 * - {@link recentEvents} returns at most 20 events.
 */
export { eventRules } from './admission.js';
export { recentEvents } from './recent.js';
export { type Observed, type Transition, transitionsOf } from './transitions.js';
