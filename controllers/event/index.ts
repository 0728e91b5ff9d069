/** Events: changes of objects, for operators. */
export { eventRules } from './admission.js';
export { recentEvents } from './recent.js';
export { type Observed, type Transition, transitionsOf } from './transitions.js';
