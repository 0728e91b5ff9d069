import { failedPrecondition, type FieldViolation } from 'kedge';
import { type AdmissionRules, policies, type Policy, type User } from 'kedge/server';

/** Rules of users: the policies they hold must exist. */
export function userRules(): AdmissionRules<User> {
  return {
    async validate(context, user) {
      const violations: FieldViolation[] = [];
      for (const [index, name] of (user.policies ?? []).entries()) {
        if (await context.lookup(policies, { name })) continue;
        const description = `policy "${name}" does not exist; create it first`;
        violations.push({ field: `policies[${index}]`, description });
      }
      return violations;
    },
  };
}

function demandNotBuiltin(policy: Policy | undefined): void {
  if (policy?.builtin !== true) return;
  throw failedPrecondition(
    'BuiltIn',
    `policy "${policy.name}" belongs to the installation; make one of your own instead`,
    { kind: 'Policy', name: policy.name },
  );
}

/** Rules of policies: the built-in ones belong to the release. */
export function policyRules(): AdmissionRules<Policy> {
  return {
    validate(_context, _policy, before) {
      demandNotBuiltin(before);
      return Promise.resolve([]);
    },
    validateDelete(_context, policy) {
      demandNotBuiltin(policy);
      return Promise.resolve();
    },
  };
}
