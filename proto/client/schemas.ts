/** The schemas of the API without the generated codecs, for programs that send and receive JSON by descriptors. */
import { SchemaRegistry } from 'kedge/rpc';
import { descriptorSet } from '../gen/descriptors.js';

let registry: SchemaRegistry | undefined;

/** Returns the schemas of the API, which are read once. */
export function apiSchemas(): SchemaRegistry {
  registry ??= new SchemaRegistry(descriptorSet);
  return registry;
}
