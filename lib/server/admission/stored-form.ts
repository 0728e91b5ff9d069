import { asObject, type AnyKind, type ApiObject, type ObjectMeta } from '../../object/index.js';

/** A written object in stored form, for the rules of other writes. */
export function asStored(
  kind: AnyKind,
  object: ApiObject,
  current: ApiObject | undefined,
): ApiObject {
  if (!current) return asObject({ ...kind.initialStatus, ...object, metadata: unstored });
  const stored = Object.entries(current).filter(([name]) => kind.statusFields.includes(name));
  return asObject({ ...Object.fromEntries(stored), ...object, metadata: current.metadata });
}

const unstored: ObjectMeta = {
  uid: '',
  resourceVersion: '',
  generation: 0,
  createdAt: '',
  updatedAt: '',
};

/** Returns an object of a declared kind with its status, as its type requires. Objects of other kinds are unchanged. */
export function withStatus(
  { declaration, initialStatus, statusFields }: AnyKind,
  object: ApiObject,
  before: ApiObject | undefined,
): ApiObject {
  if (!declaration) return object;
  const stored = Object.entries(before ?? {}).filter(([name]) => statusFields.includes(name));
  const status = before ? Object.fromEntries(stored) : { ...initialStatus };
  return asObject({ ...declaration.completeStatus(status), ...object });
}
