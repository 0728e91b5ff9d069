/**
 * The reports of drivers on the needs of a class, and the search for resources without objects.
 *
 * Guarantees: nothing is changed at a provider.
 *
 * Caveats:
 * - A permission that only a change would show has the state `unknown`.
 * - A class that could not be searched is named in a warning; the others are searched.
 */
export { type InspectionOptions } from './class-call.js';
export { inspectionVerbs } from './verbs.js';
