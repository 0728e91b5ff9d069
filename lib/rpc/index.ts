/**
 * Shared by server and client: descriptors, the mapping between protobuf and JSON, error details. It is independent
 * of transports.
 */
export {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type JsonObject,
  SchemaRegistry,
} from './schema-registry.js';
export { bodyField, methodTable, type MethodInfo, type StandardVerb } from './method-table.js';
export { isJsonObject, textOf } from './json.js';
export { descriptorSet as baseDescriptors } from './gen/base-descriptors.js';
export { type FieldTraits, OptionWriter, type RouteInit, type RulesInit } from './option-writer.js';
export { hasPresence, present } from './present.js';
export { fromProtoJson, isJsonMessage } from './json-form.js';
export { requireKnownFields } from './unknown-fields.js';
export { requireFewItems } from './wire-items.js';
export { fieldRules, type FieldRules, httpRoute, type HttpRoute } from './options.js';
export {
  decodeStatus,
  encodeStatus,
  headerSized,
  statusCodeName,
  statusDetailsKey,
} from './status-wire.js';
