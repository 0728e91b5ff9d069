import { StatusError } from '../../base/index.js';
import { after, type Later, promised } from '../../base/promises/later.js';
import type { StoreReader } from '../../store/index.js';
import type { Identity } from './identity.js';
import { isGranted } from './grants.js';
import { type Policy, policies, type PolicyRule } from './kinds.js';
import { allHolders } from './token-ancestors.js';

/** The access of a call. `namespace` is undefined for cluster-scoped kinds, `*` for all namespaces. */
export interface Access {
  readonly resource: string;
  readonly verb: string;
  readonly namespace: string | undefined;
}

function covers(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}

function allows(rule: PolicyRule, access: Access): boolean {
  const everywhere = access.namespace === undefined || access.namespace === '*';
  return (
    covers(rule.resources, access.resource) &&
    covers(rule.verbs, access.verb) &&
    (everywhere ? rule.namespaces.includes('*') : covers(rule.namespaces, access.namespace))
  );
}

/** Decides on the access of an identity. {@link Authorizer} is the built-in one. */
export interface AccessControl {
  can(identity: Identity, access: Access): Promise<boolean>;
  /** Resolves if the identity has the right. @throws StatusError PermissionDenied */
  require(identity: Identity, access: Access): Promise<void>;
}

/**
 * Returns access control by a function of the embedder. The function is called for the caller and for the creators of
 * the caller's token; an access is permitted only if it returns true for all of them.
 */
export function accessControl(
  allows: (identity: Identity, access: Access) => boolean | Promise<boolean>,
): AccessControl {
  const can = (identity: Identity, access: Access): Promise<boolean> =>
    promised(() => allHolders(identity, (holder) => allows(holder, access)));
  return { can, require: (identity, access) => required(can, identity, access) };
}

function required(can: AccessControl['can'], identity: Identity, access: Access): Promise<void> {
  return promised(() =>
    after(can(identity, access), (found) => {
      if (!found) throw denied(identity, access);
    }),
  );
}

function denied(identity: Identity, access: Access): StatusError {
  const where = access.namespace === undefined ? '' : ` in namespace ${access.namespace}`;
  return new StatusError({
    code: 'PermissionDenied',
    reason: 'PermissionDenied',
    message: `${identity.subject} is not permitted to ${access.verb} ${access.resource}${where}; request a policy that allows it`,
  });
}

/** Role-based access control: allow-only policies; default deny. */
export class Authorizer implements AccessControl {
  readonly #store: Pick<StoreReader, 'get'>;

  constructor(store: Pick<StoreReader, 'get'>) {
    this.#store = store;
  }

  /** Whether the caller and the creators of its token have a right. */
  can(identity: Identity, access: Access): Promise<boolean> {
    return promised(() => allHolders(identity, (holder) => this.#has(holder, access)));
  }

  #has(identity: Identity, access: Access): Later<boolean> {
    const grants = (policy: Policy | undefined): boolean =>
      policy !== undefined &&
      isGranted(policy, identity.policyUids) &&
      policy.rules?.some((rule) => allows(rule, access)) === true;
    const from = (at: number): Later<boolean> => {
      const name = identity.policies[at];
      if (name === undefined) return false;
      const policy = this.#store.get(policies, { name });
      return after(policy, (found) => grants(found) || from(at + 1));
    };
    return from(0);
  }

  /**
   * Resolves if the caller and the creators of its token have a right.
   * @throws StatusError PermissionDenied that names subject, verb, resource and namespace.
   */
  require(identity: Identity, access: Access): Promise<void> {
    return required((...given) => this.can(...given), identity, access);
  }
}
