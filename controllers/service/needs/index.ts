/** What workloads need of a node: resources and ports. */
export { portLabel, portViolations, type TakenPort, takenPorts } from './ports.js';
export {
  limitsOf,
  type ResourceLimits,
  type ResourceRequests,
  requestsOf,
} from './quantities.js';
export { resourceViolations } from './resource-rules.js';
