/** What drivers say about a class: its needs. Never changes anything at a provider. */
export { type InspectionOptions } from './class-call.js';
export { inspectionVerbs } from './verbs.js';
