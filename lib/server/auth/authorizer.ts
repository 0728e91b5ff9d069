import { StatusError } from '../../base/index.js';
import type { StoreReader } from '../../store/index.js';
import type { Identity } from './authenticator.js';
import { policies, type PolicyRule } from './kinds.js';

/** What a call wants to do. `namespace` is undefined for cluster-scoped kinds, `*` for all namespaces. */
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

/** Role-based access control: allow-only policies; what nothing allows is denied. */
export class Authorizer {
  readonly #store: Pick<StoreReader, 'get'>;

  constructor(store: Pick<StoreReader, 'get'>) {
    this.#store = store;
  }

  async can(identity: Identity, access: Access): Promise<boolean> {
    for (const name of identity.policies) {
      const policy = await this.#store.get(policies, { name });
      if (policy?.rules?.some((rule) => allows(rule, access))) return true;
    }
    return false;
  }

  /** @throws StatusError PermissionDenied that names subject, verb, resource and namespace. */
  async demand(identity: Identity, access: Access): Promise<void> {
    if (await this.can(identity, access)) return;
    const where = access.namespace === undefined ? '' : ` in namespace ${access.namespace}`;
    throw new StatusError({
      code: 'PermissionDenied',
      reason: 'PermissionDenied',
      message: `${identity.subject} may not ${access.verb} ${access.resource}${where}; ask for a policy that allows it`,
    });
  }
}
