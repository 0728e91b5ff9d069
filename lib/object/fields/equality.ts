/** True for two deeply equal JSON values. 0 equals -0, and a key set to undefined equals an absent key. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((value, i) => jsonEqual(value, b[i]))
    );
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  for (const key of keys) if (!jsonEqual(left[key], right[key])) return false;
  return true;
}

/** Deeply freezes a JSON value and returns it. The content of an already frozen value is not visited. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    // for-in instead of Object.values: it allocates no array, which matters for a hundred thousand objects.
    for (const key in value) {
      const inner: unknown = value[key];
      if (typeof inner === 'object') deepFreeze(inner);
    }
  }
  return value;
}

/** The value at a dotted path of plain names, or undefined. */
export function valueAt(object: unknown, path: string): unknown {
  let value: unknown = object;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
