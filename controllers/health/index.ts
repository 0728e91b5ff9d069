/**
 * The health of workloads, derived from the conditions of instances.
 *
 * Guarantees: it depends only on the stored instances and the scale of their service. An instance on a silent node is
 * Unknown.
 *
 * Caveats: there are no health probes. A workload that runs without working is Healthy.
 */
export { healthVerbs } from './verbs.js';
