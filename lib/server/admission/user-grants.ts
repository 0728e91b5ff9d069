import type { AnyKind } from '../../object/index.js';
import type { AdmissionContext, AdmissionRules } from '../api/admission-rules.js';
import type { ServedKind } from '../api/served-kind.js';
import { uidThen } from '../auth/grants.js';
import { policies, type User, users } from '../auth/index.js';

/**
 * Binds the grants of users: a granted name of a policy or node refers to the object with that name at the write.
 * An earlier grant keeps its object. A recreated object of that name is therefore not granted; remove the name and
 * grant it again.
 */
export function withGrants(served: ServedKind, nodes: AnyKind | undefined): ServedKind {
  if (served.kind.kind !== users.kind) return served;
  const rules: AdmissionRules<User> = served.rules;
  const prepare = async (
    context: AdmissionContext,
    given: User,
    before: User | undefined,
  ): Promise<User> => {
    const user = (await rules.prepare?.(context, given, before)) ?? given;
    const nodeUid = await nodeUidOf(context, user, before, nodes);
    return {
      ...user,
      policyUids: await policyUidsOf(context, user, before),
      ...(nodeUid === undefined ? {} : { nodeUid }),
    };
  };
  return { ...served, rules: { ...rules, prepare } };
}

/**
 * Returns the uids of the granted policies; the empty text for a policy that does not exist. A policy of the same
 * transaction has no uid yet: its grant is bound at the first use.
 */
async function policyUidsOf(
  context: AdmissionContext,
  user: User,
  before: User | undefined,
): Promise<Readonly<Record<string, string>>> {
  const uids: Record<string, string> = {};
  for (const name of user.policies ?? []) {
    const held = before?.policies?.includes(name) ? before : undefined;
    const known = held?.policyUids?.[name];
    if (known !== undefined) {
      uids[name] = known;
      continue;
    }
    const policy = await context.lookup(policies, { name });
    if (policy?.metadata.uid === '') continue;
    uids[name] = held ? uidThen(policy, held.metadata.updatedAt) : (policy?.metadata.uid ?? '');
  }
  return uids;
}

async function nodeUidOf(
  context: AdmissionContext,
  { node }: User,
  before: User | undefined,
  nodes: AnyKind | undefined,
): Promise<string | undefined> {
  if (!node || !nodes) return undefined;
  if (before?.node === node) return before.nodeUid;
  return (await context.lookup(nodes, { name: node }))?.metadata.uid || undefined;
}
