/**
 * The requirements of workloads on a node: resources and ports.
 *
 * Guarantees: all functions are pure.
 *
 * Caveats: formats and ranges are checked by the schema. Quantities must have passed it.
 */
export { isNeedy, portLabel, portViolations, type TakenPort, takenPorts } from './ports.js';
export {
  capacityOf,
  limitsOf,
  type ResourceLimits,
  type ResourceRequests,
  requestsOf,
} from './quantities.js';
export { resourceViolations } from './resource-rules.js';
