import { invalid } from '../base/index.js';
import type { AnyKind } from './kinds/kind.js';
import type { ObjectKey } from './kinds/object.js';

/** One object in one version: what a guarded write was decided on. */
export interface ObjectVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** An object as a caller may really have given it: what TypeScript demands can be missing at run time. */
type Given = ObjectKey & { readonly metadata?: Partial<ObjectVersion> | undefined };

function refuse(kind: AnyKind, object: ObjectKey, field: string, wayOut: string): never {
  const { namespace, name } = object;
  const key = namespace === undefined ? { name } : { namespace, name };
  throw invalid([{ field, description: `is missing: ${wayOut}` }], { kind: kind.kind, ...key });
}

const updateWayOut =
  'update takes a changed copy of the object that was read; to replace whatever is stored, call overwrite';
const deleteWayOut =
  'delete takes the object that was read; to delete whatever has the name, call deleteByName';

/**
 * The version that an update is guarded by.
 * @throws StatusError InvalidArgument for an object without uid or version.
 */
export function requiredVersion(kind: AnyKind, object: Given): ObjectVersion {
  const { uid, resourceVersion } = object.metadata ?? {};
  if (!uid) refuse(kind, object, 'metadata.uid', updateWayOut);
  if (!resourceVersion) refuse(kind, object, 'metadata.resourceVersion', updateWayOut);
  return { uid, resourceVersion };
}

/**
 * The uid that a deletion is guarded by.
 * @throws StatusError InvalidArgument for an object without one.
 */
export function requiredUid(kind: AnyKind, object: Given): string {
  return object.metadata?.uid || refuse(kind, object, 'metadata.uid', deleteWayOut);
}
