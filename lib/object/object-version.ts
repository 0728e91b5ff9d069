import { invalid } from '../base/index.js';
import type { AnyKind } from './kinds/kind.js';
import type { ObjectKey } from './kinds/object.js';

/** One version of one object, on which a guarded write is based. */
export interface ObjectVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** An object as passed at run time: fields that the type requires may be missing. */
type Given = ObjectKey & { readonly metadata?: Partial<ObjectVersion> | undefined };

function refuse(kind: AnyKind, object: ObjectKey, field: string, remedy: string): never {
  const { namespace, name } = object;
  const key = namespace === undefined ? { name } : { namespace, name };
  throw invalid([{ field, description: `is missing: ${remedy}` }], { kind: kind.kind, ...key });
}

const updateRemedy =
  'update takes a changed copy of the object that was read; to replace the stored object unconditionally, call overwrite';
const deleteRemedy =
  'delete takes the object that was read; to delete by name alone, call deleteByName';

/**
 * Returns the version that guards an update.
 * @throws StatusError InvalidArgument for an object without uid or version.
 */
export function requiredVersion(kind: AnyKind, object: Given): ObjectVersion {
  const { uid, resourceVersion } = object.metadata ?? {};
  if (!uid) refuse(kind, object, 'metadata.uid', updateRemedy);
  if (!resourceVersion) refuse(kind, object, 'metadata.resourceVersion', updateRemedy);
  return { uid, resourceVersion };
}

/** Returns the uid that guards a deletion. @throws StatusError InvalidArgument for an object without a uid. */
export function requiredUid(kind: AnyKind, object: Given): string {
  return object.metadata?.uid || refuse(kind, object, 'metadata.uid', deleteRemedy);
}
