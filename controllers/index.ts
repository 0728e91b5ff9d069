/** Kinds, admission rules, controllers and the node agent of Kedge. */
export { accessPolicies } from './access/builtin-policies.js';
export * from './agent/index.js';
export * from './backup/index.js';
export { type ApiOptions, customMethods, servedKinds } from './api/api.js';
export * from './event/index.js';
export { type InstanceControllerOptions, instanceController } from './instance/index.js';
export * from './kinds/index.js';
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
export type { TransitionRow } from './provisioned/transition-table.js';
export * from './volume/index.js';
