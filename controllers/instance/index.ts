/**
 * Instances: replicas that the service controller creates and an agent runs.
 *
 * Guarantees:
 * - An instance of a deleted node is removed only after its volumes are detached from that node.
 * - An instance of a silent node is reported as Unknown, and is not deleted.
 *
 * Caveats: a node counts as deleted only if its object has been missing for `nodeGoneMs`.
 */
export { agentFinalizer } from './admission.js';
export { type InstanceControllerOptions, instanceController } from './controller.js';
