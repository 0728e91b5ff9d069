import { failedPrecondition, hasCode, notFound } from '../../base/index.js';
import type { ApiObject, Kind, NewObject } from '../../object/index.js';
import type { ObjectStore, Operation } from '../../store/index.js';
import { systemStates, tokens, users } from './kinds.js';
import { makeToken, type NewToken } from './token-format.js';

const rootName = 'root';

function creation<T extends ApiObject>(kind: Kind<T>, object: Omit<T, 'metadata'>): Operation {
  return { op: 'create', kind: kind, object: object as NewObject<ApiObject> };
}

function rootTokenCreation(token: NewToken, description: string): Operation {
  const { id: name, hash: secretHash } = token;
  return creation(tokens, { name, subject: rootName, description, secretHash });
}

/**
 * Makes the root user and its first token, once in the life of an installation (the mark outlives
 * the user). Gives back the token's text.
 * @throws StatusError FailedPrecondition ever after.
 */
export async function bootstrap(store: ObjectStore): Promise<string> {
  const token = makeToken();
  try {
    await store.transact([
      creation(systemStates, { name: 'bootstrapped', value: token.id }),
      creation(users, { name: rootName, policies: ['root'] }),
      rootTokenCreation(token, 'bootstrap'),
    ]);
  } catch (error) {
    if (!hasCode(error, 'AlreadyExists')) throw error;
    throw failedPrecondition(
      'AlreadyBootstrapped',
      'this installation is bootstrapped already; a lost root token is replaced on the machine itself with: kedged recover-root',
    );
  }
  return token.text;
}

/** True once {@link bootstrap} has succeeded. */
export async function isBootstrapped(store: ObjectStore): Promise<boolean> {
  return (await store.get(systemStates, { name: 'bootstrapped' })) !== undefined;
}

/** A further root token, for the holder of the data directory. */
export async function recoverRoot(store: ObjectStore): Promise<string> {
  const token = makeToken();
  const missing = (await store.get(users, { name: rootName })) === undefined;
  const user = creation(users, { name: rootName, policies: ['root'] });
  await store.transact([...(missing ? [user] : []), rootTokenCreation(token, 'recover-root')]);
  return token.text;
}

/** What a client asks for in a token. */
export interface TokenRequest {
  readonly subject: string;
  readonly description?: string;
  readonly ttlSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The operation that stores a token; who commits it sees to it that its user exists. */
export function tokenCreation(request: TokenRequest, now: number, token: NewToken): Operation {
  const { subject, description, labels } = request;
  const ttl = request.ttlSeconds ?? 0;
  return creation(tokens, {
    name: token.id,
    subject,
    ...(labels ? { labels } : {}),
    ...(description === undefined ? {} : { description }),
    ...(ttl > 0 ? { ttlSeconds: ttl } : {}),
    secretHash: token.hash,
    ...(ttl > 0 ? { expiresAt: new Date(now + ttl * 1_000).toISOString() } : {}),
  });
}

/**
 * Makes a token for a user that exists. Gives back the stored object and the text, which is not stored.
 * @throws StatusError NotFound for an unknown subject.
 */
export async function issueToken(
  store: ObjectStore,
  request: TokenRequest,
  now: number,
  token: NewToken,
): Promise<{ readonly object: ApiObject; readonly text: string }> {
  if (!(await store.get(users, { name: request.subject })))
    throw notFound({ kind: 'User', name: request.subject });
  const [made] = await store.transact([tokenCreation(request, now, token)]);
  if (!made) throw new TypeError('the store lost a token');
  return { object: made.object, text: token.text };
}
