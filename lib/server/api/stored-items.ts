import type { JsonObject } from '../../rpc/index.js';

/** Invisible to encoders, which read string keys only. */
const stored = Symbol('items as stored');

/**
 * Marks a list whose items have the form of the store: they may have fields that the message does not have, and lack
 * fields that an answer always has. Only a protobuf encoder may send them, because these make no difference there.
 */
export function withStoredItems(answer: JsonObject): JsonObject {
  return Object.defineProperty(answer, stored, { value: true });
}

/** Whether the items of a list have the form of the store. */
export function hasStoredItems(answer: JsonObject): boolean {
  return stored in answer;
}
