/**
 * The health of workloads, derived from the conditions of instances.
 *
 * Guarantees: it changes only with the status of instances and the scale of the service. An instance on a silent node
 * is Unknown.
 *
 * Caveats: there are no health probes. A workload that runs without working is Healthy.
 */
export { healthVerbs } from './verbs.js';
