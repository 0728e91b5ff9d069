import { type ApiObject, keyOf, keyString } from './kinds/object.js';

/**
 * An object with its key and version at hand; the object itself may be parsed at first use. A cache of many objects
 * that are rarely read then holds their bytes instead of their object graphs.
 */
export interface Stored<T extends ApiObject> {
  /** {@link keyString} of the object. */
  readonly key: string;
  readonly resourceVersion: string;
  /** Frozen. The same instance at every use. */
  readonly object: T;
}

/** An object that is in memory already, as a {@link Stored}. */
export function stored<T extends ApiObject>(object: T): Stored<T> {
  const { resourceVersion } = object.metadata;
  return { key: keyString(keyOf(object)), resourceVersion, object };
}
