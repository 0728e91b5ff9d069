/** A JSON object as it is on the wire and in the store. */
export type JsonObject = { readonly [key: string]: unknown };

/** A text field of a JSON object; empty when it is absent or no text. */
export function textOf(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}

/** True for a JSON object: no list, no null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
