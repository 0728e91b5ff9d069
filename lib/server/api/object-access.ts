import { type FieldViolation, StatusError } from '../../base/index.js';
import { after, type Later } from '../../base/promises/later.js';
import type { ApiObject } from '../../object/index.js';
import { holders, type Identity } from '../auth/index.js';

/** A write whose fields are checked. */
export interface ObjectChange {
  /** The stored object; absent for a creation. */
  readonly before: ApiObject | undefined;
  readonly after: ApiObject;
}

/** Decides whether an identity may access one object of a resource that policies allow. */
export interface ObjectFilter {
  allows(resource: string, verb: string, object: ApiObject): boolean | Promise<boolean>;
  /**
   * Returns the fields of a write that the identity may not change in this way, each with the reason and the remedy. It
   * is called only for objects that the identity has access to. Absent: there are no such fields. The commit checks
   * that `before` is still stored.
   * @param resource as for `allows`, such as `lamps/status` for a write of the status
   */
  withheld?(
    resource: string,
    change: ObjectChange,
  ): readonly FieldViolation[] | Promise<readonly FieldViolation[]>;
}

/**
 * Restricts the access that policies allow by object, for example an agent to objects of its node. It never extends
 * access.
 */
export interface ObjectAccess {
  /** Returns the restrictions of an identity; undefined if its access is not restricted. */
  filterFor(identity: Identity): ObjectFilter | undefined;
}

/** Returns an access that also applies the restrictions of a token's creators to its callers. */
export function throughAncestors(access: ObjectAccess): ObjectAccess {
  return {
    filterFor(identity) {
      if (!identity.parent) return access.filterFor(identity);
      const filters = holders(identity).flatMap((holder) => access.filterFor(holder) ?? []);
      return filters.length === 0 ? undefined : everyFilter(filters);
    },
  };
}

function everyFilter(filters: readonly ObjectFilter[]): ObjectFilter {
  return {
    async allows(resource, verb, object) {
      for (const filter of filters)
        if (!(await filter.allows(resource, verb, object))) return false;
      return true;
    },
    async withheld(resource, change) {
      const found: FieldViolation[] = [];
      for (const filter of filters)
        found.push(...((await filter.withheld?.(resource, change)) ?? []));
      return found;
    },
  };
}

function labelOf({ namespace, name }: ApiObject): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** Checks that the filter allows an access; without a filter it is allowed. @throws StatusError PermissionDenied */
export function requireObject(
  filter: ObjectFilter | undefined,
  identity: Identity,
  resource: string,
  verb: string,
  object: ApiObject,
): Later<void> {
  if (!filter) return;
  return after(filter.allows(resource, verb, object), (allowed) => {
    if (allowed) return;
    throw new StatusError({
      code: 'PermissionDenied',
      reason: 'PermissionDenied',
      message: `${identity.subject} is not permitted to ${verb} ${resource} "${labelOf(object)}": the object does not belong to this account`,
    });
  });
}

/**
 * Checks that the filter allows the changed fields of a write.
 * @throws StatusError PermissionDenied with every field that the identity may not change in this way
 */
export function requireChange(
  filter: ObjectFilter | undefined,
  identity: Identity,
  resource: string,
  change: ObjectChange,
): Later<void> {
  const withheld = filter?.withheld?.(resource, change);
  if (withheld === undefined) return;
  return after(withheld, (found = []) => requireNone(found, identity, resource, change));
}

function requireNone(
  violations: readonly FieldViolation[],
  identity: Identity,
  resource: string,
  change: ObjectChange,
): void {
  if (violations.length === 0) return;
  const reported = violations
    .map(({ field, description }) => `${field}: ${description}`)
    .join('; ');
  throw new StatusError({
    code: 'PermissionDenied',
    reason: 'PermissionDenied',
    message: `${identity.subject} is not permitted to make this change of ${resource} "${labelOf(change.after)}": ${reported}`,
    violations,
  });
}
