import { isDeleting } from '../../object/index.js';
import type { ObjectStore } from '../../store/index.js';
import { modify, modifyStatus } from '../../store/writes/modify.js';
import { type Policy, policies, type Token, tokens, type User, users } from './kinds.js';

/** Options of binding grants. */
export interface GrantBinding {
  readonly store: Pick<ObjectStore, 'get' | 'update' | 'updateStatus' | 'transact'>;
  /**
   * Called for a binding that could not be stored, for example on a full disk. It applies to this use and is
   * retried at the next.
   */
  readonly onFailure: (error: unknown) => void;
}

/** A token without a user: the user of its subject's name was created later. */
export interface LeftToken {
  readonly id: string;
  readonly subject: string;
}

/** The metadata of an object that grants depend on. */
export interface Made {
  readonly metadata: { readonly uid: string; readonly createdAt: string };
}

/** The uid of the object that had the name at the time `at`; empty without one. Later objects do not count. */
export function uidThen(object: Made | undefined, at: string): string {
  const meant = object && Date.parse(object.metadata.createdAt) <= Date.parse(at);
  return meant ? object.metadata.uid : '';
}

/**
 * The uids of all policy names of a user, with those of unbound names looked up; undefined if every name is bound.
 */
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
 * Binds policy names of a user that were stored without the API or by an earlier release. Resolves to the uids.
 */
export async function bindPolicies(
  { store, onFailure }: GrantBinding,
  user: User,
): Promise<Readonly<Record<string, string>>> {
  const policyUids = await unboundPolicies(store, user);
  if (!policyUids) return user.policyUids ?? {};
  const { resourceVersion } = user.metadata;
  // The user was written concurrently: unbound names are bound at the next use.
  await modify(store, users, { name: user.name }, (current) =>
    current.metadata.resourceVersion === resourceVersion ? { ...current, policyUids } : undefined,
  ).catch(onFailure);
  return policyUids;
}

/**
 * Binds a token that was stored with only its user's name to the uid of that user. Returns the uid of the token's user;
 * empty if the token is older than the user.
 */
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
 * Binds every token and every user's policies to uids, in a store of an earlier release with names only.
 * Idempotent. Resolves to the tokens that are older than the user whom their subject names, which are refused.
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
    // A token whose subject has no user is refused for that reason.
    if ((await bindToken(binding, token, user)) === '' && user) left.push({ id, subject });
  }
  return left;
}

/**
 * Whether a policy is the one that a name is bound to.
 * @param bound absent: the rights do not come from users of the store and are matched by name
 */
export function isGranted(
  policy: Policy,
  bound: Readonly<Record<string, string>> | undefined,
): boolean {
  if (!bound) return true;
  const uid = bound[policy.name];
  // A release may store its built-in policies after the first user.
  return uid ? uid === policy.metadata.uid : policy.builtin === true;
}

/**
 * Binds the account of a node to the node of that name, at the first use.
 * @returns false if the account's node was deleted, even if another node has its name
 */
export async function meetsNode(
  { store, onFailure }: GrantBinding,
  user: User,
  node: Made | undefined,
): Promise<boolean> {
  if (user.nodeUid !== undefined) return user.nodeUid === node?.metadata.uid;
  // The node does not exist yet: it registers with this account.
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

/** True for a deleted object, or one in deletion, which gives no rights. */
export function isGone(object: User | Token | undefined): boolean {
  return object === undefined || isDeleting(object);
}
