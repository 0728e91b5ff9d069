import { isDeleting } from '../../object/index.js';
import { modify, modifyStatus, type ObjectStore } from '../../store/index.js';
import { type Policy, policies, type Token, tokens, type User, users } from './kinds.js';

/** What grants are bound with. */
export interface GrantBinding {
  readonly store: Pick<ObjectStore, 'get' | 'update' | 'updateStatus' | 'transact'>;
  /**
   * Told of a binding that could not be stored, such as on a full disk. It holds for this use and is
   * tried again at the next.
   */
  readonly onFailure: (error: unknown) => void;
}

/** A token that hangs on no user: the one of its subject's name was made after it, so it is another one. */
export interface LeftToken {
  readonly id: string;
  readonly subject: string;
}

/** An object, as far as grants look at it. */
export interface Made {
  readonly metadata: { readonly uid: string; readonly createdAt: string };
}

/** The uid of what was meant by a name that was written at `at`: nothing that was made later. */
export function uidThen(object: Made | undefined, at: string): string {
  const meant = object && Date.parse(object.metadata.createdAt) <= Date.parse(at);
  return meant ? object.metadata.uid : '';
}

/** What each policy name of a user stands for, where nothing has said so yet. */
async function unboundPolicies(
  store: Pick<ObjectStore, 'get'>,
  { policies: names = [], policyUids = {}, metadata }: User,
): Promise<Readonly<Record<string, string>> | undefined> {
  const unbound = names.filter((name) => policyUids[name] === undefined);
  if (unbound.length === 0) return undefined;
  const found: Record<string, string> = { ...policyUids };
  for (const name of unbound)
    found[name] = uidThen(await store.get(policies, { name }), metadata.updatedAt);
  return found;
}

/**
 * Binds the policy names of a user that were stored past the API, or by a release that knew names alone.
 * Resolves to what its names stand for.
 */
export async function bindPolicies(
  { store, onFailure }: GrantBinding,
  user: User,
): Promise<Readonly<Record<string, string>>> {
  const policyUids = await unboundPolicies(store, user);
  if (!policyUids) return user.policyUids ?? {};
  const { resourceVersion } = user.metadata;
  // Written by somebody else meanwhile: what that leaves unbound is bound at the next use.
  await modify(store, users, { name: user.name }, (current) =>
    current.metadata.resourceVersion === resourceVersion ? { ...current, policyUids } : undefined,
  ).catch(onFailure);
  return policyUids;
}

/** The uid of the user that a token was made for; empty where there is none. */
export async function bindToken(
  { store, onFailure }: GrantBinding,
  token: Token,
  user: User | undefined,
): Promise<string> {
  if (token.subjectUid !== undefined) return token.subjectUid;
  const subjectUid = uidThen(user, token.metadata.createdAt);
  if (subjectUid === '') return '';
  const { uid } = token.metadata;
  await modifyStatus(store, tokens, { name: token.name }, (current) =>
    current.metadata.uid === uid && current.subjectUid === undefined ? { subjectUid } : undefined,
  ).catch(onFailure);
  return subjectUid;
}

/**
 * Binds every token and every user's policies to uids, in a store whose last release knew names alone.
 * Idempotent. Resolves to the tokens that are no one's: they are refused.
 */
export async function bindGrants(
  store: GrantBinding['store'] & Pick<ObjectStore, 'list'>,
  onFailure: GrantBinding['onFailure'],
): Promise<readonly LeftToken[]> {
  const binding = { store, onFailure };
  const known = new Map<string, User>();
  for (const user of (await store.list(users, {})).items) {
    known.set(user.name, user);
    await bindPolicies(binding, user);
  }
  const left: LeftToken[] = [];
  for (const token of (await store.list(tokens, {})).items) {
    if (token.subjectUid !== undefined) continue;
    const { name: id, subject } = token;
    const user = known.get(subject);
    // Without a user of the name a token is refused by that.
    if ((await bindToken(binding, token, user)) === '' && user) left.push({ id, subject });
  }
  return left;
}

/**
 * Whether a policy is the one that a name stands for.
 * @param bound absent: the caller's rights do not come from users of the store, and go by name
 */
export function isGranted(
  policy: Policy,
  bound: Readonly<Record<string, string>> | undefined,
): boolean {
  if (!bound) return true;
  const uid = bound[policy.name];
  // The built-in ones are the installation's, which may store them after its first user.
  return uid ? uid === policy.metadata.uid : policy.builtin === true;
}

/**
 * Binds the account of a node to the node of that name, at their first meeting.
 * @returns false when the node that the account is of is gone, whether or not its name is taken again
 */
export async function meetsNode(
  { store, onFailure }: GrantBinding,
  user: User,
  node: Made | undefined,
): Promise<boolean> {
  if (user.nodeUid !== undefined) return user.nodeUid === node?.metadata.uid;
  // The account of a node that is still to come: it makes itself known by this account.
  if (!node) return true;
  const nodeUid = node.metadata.uid;
  const { name, metadata } = user;
  await modify(store, users, { name }, (current) =>
    current.metadata.resourceVersion === metadata.resourceVersion
      ? { ...current, nodeUid }
      : undefined,
  ).catch(onFailure);
  return true;
}

/** True for what calls as nobody: gone, or on its way. */
export function isGone(object: User | Token | undefined): boolean {
  return object === undefined || isDeleting(object);
}
