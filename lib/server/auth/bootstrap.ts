import { failedPrecondition, hasCode, notFound, type StatusError } from '../../base/index.js';
import type { ApiObject, Kind, NewObject } from '../../object/index.js';
import type { ObjectStore, Operation } from '../../store/index.js';
import { bindPolicies } from './grants.js';
import { systemStates, tokens, type User, users } from './kinds.js';
import { makeToken, type NewToken } from './token-format.js';

const rootName = 'root';

function creation<T extends ApiObject>(kind: Kind<T>, object: Omit<T, 'metadata'>): Operation {
  return { op: 'create', kind: kind, object: object as NewObject<ApiObject> };
}

/** Returns the root user, which is created if it does not exist. */
async function rootUser(store: ObjectStore): Promise<User> {
  const known = await store.get(users, { name: rootName });
  if (known) return known;
  try {
    return await store.create(users, { name: rootName, policies: ['root'] });
  } catch (error) {
    const other = hasCode(error, 'AlreadyExists') && (await store.get(users, { name: rootName }));
    if (!other) throw error;
    return other;
  }
}

function rootTokenOperations(
  user: User,
  { id: name, hash: secretHash }: NewToken,
  description: string,
): readonly Operation[] {
  const token = { name, subject: rootName, subjectUid: user.metadata.uid, description, secretHash };
  return [isStill(user), creation(tokens, token)];
}

/** The creation of the mark after which no further bootstrap is accepted. */
function bootstrapMark({ id }: NewToken): Operation {
  return creation(systemStates, { name: 'bootstrapped', value: id });
}

/** The check that the user still exists, with the same uid. */
function isStill({ name, metadata: { uid } }: User): Operation {
  return { op: 'check', kind: users, key: { name }, precondition: { uid } };
}

/**
 * Creates the root user and its first token, once per store (the mark remains if the user is deleted). Returns
 * the text of the token.
 * @throws StatusError FailedPrecondition (AlreadyBootstrapped) at later calls.
 */
export async function bootstrap(store: ObjectStore): Promise<string> {
  const token = makeToken();
  try {
    if (await isBootstrapped(store)) throw bootstrapped();
    await store.transact([
      bootstrapMark(token),
      ...rootTokenOperations(await rootUser(store), token, 'bootstrap'),
    ]);
  } catch (error) {
    if (!hasCode(error, 'AlreadyExists')) throw error;
    throw bootstrapped();
  }
  return token.text;
}

function bootstrapped(): StatusError {
  return failedPrecondition(
    'AlreadyBootstrapped',
    'this cluster is already bootstrapped; to replace a lost root token, stop kedged and run on its machine, with its settings: kedged recover-root',
  );
}

/** True once {@link bootstrap} has succeeded. */
export async function isBootstrapped(store: ObjectStore): Promise<boolean> {
  return (await store.get(systemStates, { name: 'bootstrapped' })) !== undefined;
}

/**
 * Creates a further root token, for the owner of the data directory, and the root user if it does not exist. Afterwards
 * {@link bootstrap} is refused, also if it was never called. Returns the text of the token.
 */
export async function recoverRoot(store: ObjectStore): Promise<string> {
  const token = makeToken();
  await store.transact([
    ...((await isBootstrapped(store)) ? [] : [bootstrapMark(token)]),
    ...rootTokenOperations(await rootUser(store), token, 'recover-root'),
  ]);
  return token.text;
}

/** The request of a token. */
export interface TokenRequest {
  readonly subject: string;
  readonly description?: string;
  /** Seconds until it expires; 0 or absent: never. It does not outlive its parent token. */
  readonly ttlSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The parent of a token. */
export interface TokenParent {
  readonly id: string;
  readonly uid: string;
  /** RFC 3339; absent: it does not expire. */
  readonly expiresAt: string | undefined;
}

/** The expiry of a token: the requested time, at most that of its parent. Undefined: never. */
function endOf(
  ttlSeconds: number,
  now: number,
  parent: TokenParent | undefined,
): number | undefined {
  const asked = ttlSeconds > 0 ? now + ttlSeconds * 1_000 : Number.POSITIVE_INFINITY;
  const parentEnd =
    parent?.expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(parent.expiresAt);
  const end = Math.min(asked, parentEnd);
  return Number.isFinite(end) ? end : undefined;
}

/**
 * The operation that stores a token of a user; the caller's commit must check that the user still exists.
 * @param subjectUid uid of the user, to which the token belongs
 * @param parent the parent; the caller's commit must check that it still exists
 */
export function tokenCreation(
  request: TokenRequest,
  subjectUid: string,
  now: number,
  token: NewToken,
  parent?: TokenParent,
): Operation {
  const { subject, description, labels } = request;
  const end = endOf(request.ttlSeconds ?? 0, now, parent);
  return creation(tokens, {
    name: token.id,
    subject,
    subjectUid,
    ...(labels ? { labels } : {}),
    ...(description === undefined ? {} : { description }),
    ...(parent ? { maker: parent.id, makerUid: parent.uid } : {}),
    secretHash: token.hash,
    ...(end === undefined
      ? {}
      : {
          ttlSeconds: Math.max(1, Math.ceil((end - now) / 1_000)),
          expiresAt: new Date(end).toISOString(),
        }),
  });
}

/**
 * Creates a token for an existing user. Returns the stored object and the text, which is not stored.
 * @throws StatusError NotFound for an unknown subject, or if the user is deleted meanwhile; Aborted (Conflict) if it is
 * created again
 */
export async function issueToken(
  store: ObjectStore,
  request: TokenRequest,
  now: number,
  token: NewToken,
): Promise<{ readonly object: ApiObject; readonly text: string }> {
  const user = await store.get(users, { name: request.subject });
  if (!user) throw notFound({ kind: 'User', name: request.subject });
  await bindPolicies(
    {
      store,
      onFailure: (error) => {
        throw error;
      },
    },
    user,
  );
  const creating = tokenCreation(request, user.metadata.uid, now, token);
  const [, made] = await store.transact([isStill(user), creating]);
  if (!made) throw new TypeError('a token disappeared from the store');
  return { object: made.object, text: token.text };
}
