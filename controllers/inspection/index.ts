/** The reports of drivers on the needs of a class. Changes nothing at a provider. */
export { type InspectionOptions } from './class-call.js';
export { inspectionVerbs } from './verbs.js';
