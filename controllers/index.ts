/** Kinds, admission rules, controllers and the node agent of Kedge. */
export * from './access/index.js';
export * from './agent/index.js';
export { AgentConnection, type AgentConnectionOptions } from './agent-requests/index.js';
export * from './backup/index.js';
export * from './api/index.js';
export * from './event/index.js';
export { type InstanceControllerOptions, instanceController } from './instance/index.js';
export { accessPolicies } from './kinds/builtin-policies.js';
export * from './kinds/index.js';
export { type KindsApi, loadKindsApi } from './kinds/kinds-api.js';
export { TransitionEvents } from './kinds/transition-events.js';
export * from './configmap/kind.js';
export * from './event/kind.js';
export * from './instance/kind.js';
export * from './namespace/kind.js';
export * from './node/kind.js';
export * from './registry/kind.js';
export * from './secret/kind.js';
export * from './service/kind.js';
export * from './snapshot/kind.js';
export * from './storage-class/kind.js';
export * from './volume/kind.js';
export * from './namespace/index.js';
export * from './node/index.js';
export {
  type ControllerPolicy,
  defaultPolicy,
  policyKeys,
  policyValues,
  readPolicy,
  type ReadPolicy,
} from './policy/policy.js';
export * from './scheduler/index.js';
export * from './secret/index.js';
export * from './service/index.js';
export * from './snapshot/index.js';
export * from './storage-class/index.js';
export * from './storage-root/index.js';
export { claimedVolume } from './references/claim.js';
export type { TransitionRow } from './states/transition-table.js';
export * from './volume/index.js';
