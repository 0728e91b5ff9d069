/**
 * The API of kedged: message types, codecs and service definitions, generated from proto/api, and the descriptor set
 * from which they are generated.
 */
export { descriptorSet } from './gen/descriptors.js';
export * from './gen/index.js';
