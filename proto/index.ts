/**
 * The API of kedged: message types, codecs and gRPC stubs, generated from proto/api, and the
 * descriptor set they come from.
 */
export { descriptorSet } from './gen/descriptors.js';
export * from './gen/api/admin.js';
export * from './gen/api/auth.js';
export * from './gen/api/cast.js';
export * from './gen/api/common.js';
export * from './gen/api/configmap.js';
export * from './gen/api/event.js';
export * from './gen/api/exec.js';
export * from './gen/api/health.js';
export * from './gen/api/instance.js';
export * from './gen/api/log.js';
export * from './gen/api/namespace.js';
export * from './gen/api/node.js';
export * from './gen/api/secret.js';
export * from './gen/api/service.js';
export * from './gen/api/snapshot.js';
export * from './gen/api/storage_class.js';
export * from './gen/api/volume.js';
