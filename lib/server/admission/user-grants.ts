import type { AnyKind } from '../../object/index.js';
import type { AdmissionContext, AdmissionRules } from '../api/admission-rules.js';
import type { ServedKind } from '../api/served-kind.js';
import { uidThen } from '../auth/grants.js';
import { policies, type User, users } from '../auth/index.js';

/**
 * Users as they are served: a name that a write grants, of a policy or a node, stands for the object that
 * has it then. One that the user had before stands for what it stood for. So nothing that is made later
 * under a name is granted by it; it is taken from the user and given again.
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

/** What is stored together with the user has no uid yet: it is bound at its first use. */
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
