import { StatusError } from '../base/index.js';
import type { ApiObject } from '../object/index.js';
import type { Identity } from './auth/index.js';

/** Whether an identity may touch one object of a resource that policies allow it. */
export interface ObjectFilter {
  allows(resource: string, verb: string, object: ApiObject): boolean | Promise<boolean>;
}

/**
 * Narrows what policies allow, object by object: such as an agent to what belongs to its node. It never
 * widens.
 */
export interface ObjectAccess {
  /** Undefined: this identity is not narrowed. */
  filterFor(identity: Identity): ObjectFilter | undefined;
}

/** @throws StatusError PermissionDenied */
export async function demandObject(
  filter: ObjectFilter | undefined,
  identity: Identity,
  resource: string,
  verb: string,
  object: ApiObject,
): Promise<void> {
  if (!filter || (await filter.allows(resource, verb, object))) return;
  const label = object.namespace ? `${object.namespace}/${object.name}` : object.name;
  throw new StatusError({
    code: 'PermissionDenied',
    reason: 'PermissionDenied',
    message: `${identity.subject} may not ${verb} ${resource} "${label}": it does not belong to it`,
  });
}
