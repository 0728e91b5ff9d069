/** A JSON object on the wire or in the store. */
export type JsonObject = { readonly [key: string]: unknown };

/** A string field of a JSON object; empty if it is absent or not a string. */
export function textOf(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}

/** True for a JSON object: neither a list nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
