import {
  type ApiObject,
  type NewObject,
  type ObjectMeta,
  requireObjectVersion,
} from '../../object/index.js';
import { isJsonObject, textOf } from '../../rpc/index.js';
import type { Operation } from '../../store/index.js';
import type { WriteRequest } from './write-request.js';

/**
 * Returns the operation that stores a validated write.
 * @param before the object that the write was validated against
 */
export function writeOperation(
  { served, object: asGiven }: WriteRequest,
  object: ApiObject,
  before: ApiObject | undefined,
): Operation {
  const given = object.metadata as Partial<ObjectMeta> | undefined;
  const annotations = {
    ...(given?.annotations ? { annotations: given.annotations } : {}),
    // Only rules set the expiry: it is an output-only field.
    ...(given?.expiresAt === undefined ? {} : { expiresAt: given.expiresAt }),
  };
  const { kind, rules } = served;
  if (!before) {
    const finalizers = rules.finalizers ? { finalizers: rules.finalizers } : {};
    const metadata = { ...annotations, ...finalizers };
    return { op: 'create', kind, object: { ...object, metadata } };
  }
  // The write was validated against `before`, so the commit must check that `before` is still stored.
  const asked = requireObjectVersion(given?.resourceVersion ?? '');
  const resourceVersion = asked !== '' ? asked : before.metadata.resourceVersion;
  const next = { ...object, metadata: annotations } as NewObject<ApiObject>;
  // Rules do not see the sent uid, so it is read from the request.
  const sent = isJsonObject(asGiven.metadata) ? textOf(asGiven.metadata, 'uid') : '';
  const uid = sent === '' ? before.metadata.uid : sent;
  return { op: 'update', kind, object: next, precondition: { resourceVersion, uid } };
}
