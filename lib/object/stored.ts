import { type ApiObject, keyOf, keyString } from './kinds/object.js';

/**
 * An object with its key and version; the object itself may be parsed at first use. A cache of many objects that are
 * rarely read then holds their bytes instead of their object graphs.
 */
export interface Stored<T extends ApiObject> {
  /** {@link keyString} of the object. */
  readonly key: string;
  readonly resourceVersion: string;
  /** The frozen object; the same instance at every access. */
  readonly object: T;
}

/** An in-memory object as a {@link Stored}. */
export function stored<T extends ApiObject>(object: T): Stored<T> {
  const { resourceVersion } = object.metadata;
  return { key: keyString(keyOf(object)), resourceVersion, object };
}
