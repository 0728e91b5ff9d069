import {
  demandFewItems,
  demandKnownFields,
  type JsonObject,
  type MethodInfo,
  type SchemaRegistry,
} from '../../rpc/index.js';

/**
 * The request message of a call. Its items are counted before it is decoded.
 * @throws StatusError InvalidArgument
 */
export function readRequest(
  schemas: SchemaRegistry,
  { input }: MethodInfo,
  bytes: Buffer,
): JsonObject {
  demandFewItems(input, bytes);
  demandKnownFields(input, bytes);
  return schemas.decode(input, bytes);
}
