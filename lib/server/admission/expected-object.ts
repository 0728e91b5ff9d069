import { conflict, recreated } from '../../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  keyOf,
  type ObjectVersion,
  requireObjectVersion,
} from '../../object/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';
import type { PreparedWrite } from './write-request.js';

/**
 * The uid and version in a given object.
 * @throws StatusError InvalidArgument for a watch cursor
 */
export function expectedBy({ metadata }: JsonObject): ObjectVersion {
  if (!isJsonObject(metadata)) return { uid: '', resourceVersion: '' };
  const resourceVersion = requireObjectVersion(textOf(metadata, 'resourceVersion'));
  return { uid: textOf(metadata, 'uid'), resourceVersion };
}

/**
 * Checks the uid and version that the caller gave; an empty one matches any.
 * @throws StatusError Aborted (Conflict) if another one is stored, InvalidArgument for a watch cursor.
 */
export function requireStored(kind: AnyKind, object: ApiObject, expected: ObjectVersion): void {
  const { uid, resourceVersion } = object.metadata;
  const resource = { kind: kind.kind, ...keyOf(object) };
  if (expected.uid !== '' && expected.uid !== uid) throw recreated(resource, expected.uid, uid);
  if (expected.resourceVersion !== '' && expected.resourceVersion !== resourceVersion)
    throw conflict(resource, requireObjectVersion(expected.resourceVersion), resourceVersion);
}

/**
 * Checks the guards of a write's commit, for a dry run.
 * @throws StatusError Aborted (Conflict)
 */
export function requireExpected({ kind, before, operation }: PreparedWrite): void {
  if (before && operation.op === 'update') requireStored(kind, before, operation.precondition);
}
