/** Instances: replicas that the service controller creates and an agent runs. */
export { agentFinalizer } from './admission.js';
export { type InstanceControllerOptions, instanceController } from './controller.js';
