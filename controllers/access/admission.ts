import { counted, failedPrecondition, type FieldViolation, jsonEqual } from 'kedge';
import {
  type AdmissionContext,
  type AdmissionRules,
  escalations,
  policies,
  type Policy,
  type Token,
  type User,
  users,
} from 'kedge/server';

/**
 * The violation of granting a policy: it does not exist, or it has rights that the writer lacks. This prevents
 * privilege escalation.
 */
async function grantViolations(
  context: AdmissionContext,
  name: string,
  field: string,
): Promise<readonly FieldViolation[]> {
  const policy = await context.lookup(policies, { name });
  if (!policy) return [{ field, description: `policy "${name}" does not exist; create it first` }];
  const found: FieldViolation[] = [];
  for (const rule of policy.rules ?? [])
    found.push(...(await escalations((...access) => context.can(...access), rule, field)));
  return found.slice(0, 1);
}

/**
 * Rules of users: added policies must exist, and the writer must hold all rights of them; those of all policies if the
 * node of an account is changed or removed. Only a service account has a node.
 */
export function userRules(): AdmissionRules<User> {
  return {
    async validate(context, user, before) {
      const violations: FieldViolation[] = [];
      for (const [index, name] of (user.policies ?? []).entries()) {
        if (before?.policies?.includes(name)) continue;
        violations.push(...(await grantViolations(context, name, `policies[${index}]`)));
      }
      if (user.node && user.kind !== 'serviceAccount')
        violations.push({
          field: 'node',
          description: 'only a service account can represent a node; set kind to serviceAccount',
        });
      // An account without a node has the rights of the agents of all nodes, and one that is moved gets those of
      // another node: the writer must hold all rights of its policies.
      if (before?.node && before.node !== user.node)
        for (const name of user.policies ?? [])
          violations.push(...(await grantViolations(context, name, 'node')));
      return violations;
    },
  };
}

/** Rules of tokens: the creator of a token for another user must hold all rights of that user. */
export function tokenRules(): AdmissionRules<Token> {
  return {
    castRefusal:
      "tokens can't be cast, because the text of a token is shown only once; remove it from the file and create it: kedge token create USER",
    async validate(context, token) {
      if (token.subject === context.identity.subject) return [];
      const user = await context.lookup(users, { name: token.subject });
      const violations: FieldViolation[] = [];
      for (const name of user?.policies ?? [])
        violations.push(...(await grantViolations(context, name, 'subject')));
      return violations.slice(0, 1);
    },
  };
}

function requireNotBuiltin(policy: Policy | undefined): void {
  if (policy?.builtin !== true) return;
  throw failedPrecondition(
    'BuiltIn',
    `policy "${policy.name}" is built in and can't be changed; create another policy instead`,
    { kind: 'Policy', name: policy.name },
  );
}

/** Whether a request changes no field that clients may write. */
function isAsBefore(policy: Policy, before: Policy): boolean {
  const annotations = policy.metadata?.annotations ?? before.metadata.annotations ?? {};
  return jsonEqual(
    [policy.description, policy.rules, policy.labels ?? {}, annotations],
    [before.description, before.rules, before.labels ?? {}, before.metadata.annotations ?? {}],
  );
}

/**
 * Rules of policies: the built-in ones belong to the release, writers can grant only their own rights, and a policy
 * that a user has can't be deleted.
 */
export function policyRules(): AdmissionRules<Policy> {
  return {
    async validate(context, policy, before) {
      // Casting the printed form of a policy grants no rights.
      if (before?.builtin && isAsBefore(policy, before)) return [];
      requireNotBuiltin(before);
      const violations: FieldViolation[] = [];
      for (const [index, rule] of (policy.rules ?? []).entries())
        violations.push(
          ...(await escalations((...access) => context.can(...access), rule, `rules[${index}]`)),
        );
      return violations;
    },
    async validateDelete(context, policy) {
      requireNotBuiltin(policy);
      const holders = (await context.lookupAll(users)).filter((user) =>
        user.policies?.includes(policy.name),
      );
      if (holders.length === 0) return;
      const names = holders.slice(0, 3).map((user) => user.name);
      throw failedPrecondition(
        'InUse',
        `policy "${policy.name}" is attached to ${counted(holders.length, 'user')} (${names.join(', ')}${holders.length > 3 ? ', ...' : ''}); detach it first`,
        { kind: 'Policy', name: policy.name },
      );
    },
  };
}
