import type { FieldViolation } from '../../base/index.js';
import type { PolicyRule } from './kinds.js';

/** Maximum combinations of one rule; write larger rules with `*`. */
const combinationsMax = 10_000;

/** Whether the granter has an access; `namespace` undefined: in all namespaces. */
export type Can = (
  resource: string,
  verb: string,
  namespace: string | undefined,
) => Promise<boolean>;

/**
 * Prevents privilege escalation: returns the first access of a rule that the granter does not have, as a violation of
 * `field`; an empty list if the granter has all of them. A rule with too many combinations is a violation too.
 */
export async function escalations(
  can: Can,
  rule: PolicyRule,
  field: string,
): Promise<readonly FieldViolation[]> {
  const { resources, verbs, namespaces } = rule;
  if (resources.length * verbs.length * namespaces.length > combinationsMax)
    return [{ field, description: `has more than ${combinationsMax} combinations; use "*"` }];
  for (const resource of resources)
    for (const verb of verbs)
      for (const namespace of namespaces) {
        if (await can(resource, verb, namespace)) continue;
        const description = `grants ${verb} on ${resource} in namespace ${namespace}, a right that you do not have; you can grant only your own rights`;
        return [{ field, description }];
      }
  return [];
}
