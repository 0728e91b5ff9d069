/** Health of workloads, derived from conditions: there are no health probes. */
export { healthVerbs } from './verbs.js';
