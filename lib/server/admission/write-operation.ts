import {
  type ApiObject,
  demandObjectVersion,
  type NewObject,
  type ObjectMeta,
} from '../../object/index.js';
import { isJsonObject, textOf } from '../../rpc/index.js';
import type { Operation } from '../../store/index.js';
import type { WriteRequest } from './write-request.js';

/** The operation that stores a judged write. @param before what it was judged against */
export function writeOperation(
  { served, object: asGiven }: WriteRequest,
  object: ApiObject,
  before: ApiObject | undefined,
): Operation {
  const given = object.metadata as Partial<ObjectMeta> | undefined;
  const annotations = {
    ...(given?.annotations ? { annotations: given.annotations } : {}),
    // Never a client's: it is an output-only field, so only rules set it.
    ...(given?.expiresAt === undefined ? {} : { expiresAt: given.expiresAt }),
  };
  const { kind, rules } = served;
  if (!before) {
    const finalizers = rules.finalizers ? { finalizers: rules.finalizers } : {};
    const metadata = { ...annotations, ...finalizers };
    return { op: 'create', kind, object: { ...object, metadata } };
  }
  // Judged against `before`, so it must still be what is stored when the write happens.
  const asked = demandObjectVersion(given?.resourceVersion ?? '');
  const resourceVersion = asked !== '' ? asked : before.metadata.resourceVersion;
  const next = { ...object, metadata: annotations } as NewObject<ApiObject>;
  // Rules never see the uid that was sent, since it identifies nothing that is stored.
  const sent = isJsonObject(asGiven.metadata) ? textOf(asGiven.metadata, 'uid') : '';
  const uid = sent === '' ? before.metadata.uid : sent;
  return { op: 'update', kind, object: next, precondition: { resourceVersion, uid } };
}
