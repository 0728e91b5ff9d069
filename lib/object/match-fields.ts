import { jsonEqual } from './fields/equality.js';
import type { Kind } from './kinds/kind.js';
import { type ApiObject, fieldsOf } from './kinds/object.js';
import type { FieldSelector } from './selector.js';

/**
 * A field selector whose fields and values the compiler checks. It selects objects in which all values are deeply
 * equal.
 */
export function matchFields<T extends ApiObject>(
  _kind: Kind<T>,
  fields: Partial<T>,
): FieldSelector {
  const entries = Object.entries(fields);
  return (object) => entries.every(([field, value]) => jsonEqual(fieldsOf(object)[field], value));
}
