/** Health of workloads, as far as it is known today. */
export { healthVerbs } from './verbs.js';
