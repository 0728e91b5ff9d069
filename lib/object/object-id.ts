import type { AnyKind } from './kinds/kind.js';
import { keyString, type ObjectKey } from './kinds/object.js';

/** The id of an object among objects of several kinds: kind and key. */
export function objectId(kind: AnyKind, key: ObjectKey): string {
  return `${kind.kind} ${keyString(key)}`;
}
