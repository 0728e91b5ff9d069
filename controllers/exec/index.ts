/** Commands inside running workloads. */
export { execVerbs } from './verbs.js';
