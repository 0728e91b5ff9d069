import {
  type Clock,
  hasCode,
  type Logger,
  messageOf,
  silentLogger,
  StatusError,
  timestamp,
} from '../../base/index.js';
import type { ObjectStore, StoreReader } from '../../store/index.js';
import { type Token, tokens, users } from './kinds.js';
import { parseToken, secretMatches } from './token-format.js';

/** Who is calling, once proven. */
export interface Identity {
  readonly subject: string;
  /** Of the account: another one of the same name, made later, has another. Absent where there are no uids. */
  readonly uid?: string;
  readonly kind: 'user' | 'serviceAccount';
  readonly policies: readonly string[];
  readonly tokenId: string;
  /** RFC 3339; absent for a token that does not expire. */
  readonly expiresAt: string | undefined;
  /** The node that an agent's service account speaks for; see {@link ObjectAccess}. */
  readonly node?: string | undefined;
}

/** Proves who calls by the value of the `authorization` header. {@link Authenticator} is the built-in one. */
export interface Authentication {
  /** @throws StatusError Unauthenticated */
  authenticate(header: string | undefined): Promise<Identity>;
  /**
   * Whether somebody proven earlier still may call, for streams that go on. Absent: until their expiry.
   * @throws StatusError Unauthenticated
   */
  recheck?(identity: Identity): Promise<Identity>;
}

/** Compared against when no such token exists, so that both cases take the same time. */
const noHash = '0'.repeat(64);

/** Tokens whose last use is remembered. */
const notedMax = 16_384;

function refused(reason: string, message: string): StatusError {
  return new StatusError({ code: 'Unauthenticated', reason, message });
}

/** One answer for every kind of wrong token: which kind it is would help who guesses. */
function invalidToken(): StatusError {
  return refused('InvalidToken', 'the bearer token is not valid, was revoked or has expired');
}

/** What the built-in authenticator stands on. */
export interface AuthenticatorStore extends Pick<StoreReader, 'get'> {
  readonly updateStatus?: ObjectStore['updateStatus'];
}

/** The last use of a token is stored at most this often. */
const lastUseMs = 60_000;

/** Proves identities by bearer tokens kept in the store, and notes when each was last used. */
export class Authenticator implements Authentication {
  readonly #store: AuthenticatorStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** When the last use of a token was noted, by its id. */
  readonly #noted = new Map<string, number>();
  readonly #under = new Set<Promise<void>>();

  constructor(store: AuthenticatorStore, clock: Clock, logger: Logger = silentLogger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * @param header the value of `authorization`, `Bearer <token>`
   * @throws StatusError Unauthenticated, with one message for every kind of wrong token
   */
  async authenticate(header: string | undefined): Promise<Identity> {
    if (header === undefined || header === '')
      throw refused(
        'TokenRequired',
        'a bearer token is required: send "authorization: Bearer <token>"',
      );
    const text = /^Bearer +(\S+)$/i.exec(header)?.[1];
    const parsed = text === undefined ? undefined : parseToken(text);
    const token = parsed && (await this.#store.get(tokens, { name: parsed.id }));
    const matches = secretMatches(parsed?.secret ?? '', token?.secretHash ?? noHash);
    if (!token || !matches) throw invalidToken();
    const identity = await this.#identityOf(token);
    this.#noteUse(token);
    return identity;
  }

  /** The same caller again, as things are now. @throws StatusError Unauthenticated */
  async recheck(identity: Identity): Promise<Identity> {
    const token = await this.#store.get(tokens, { name: identity.tokenId });
    if (!token) throw invalidToken();
    return this.#identityOf(token);
  }

  /** Resolves when everything noted so far is stored. */
  async flush(): Promise<void> {
    await Promise.all(this.#under);
  }

  async #identityOf(token: Token): Promise<Identity> {
    if (this.#expired(token.expiresAt)) throw invalidToken();
    const user = await this.#store.get(users, { name: token.subject });
    if (!user) throw invalidToken();
    return {
      subject: user.name,
      uid: user.metadata.uid,
      kind: user.kind ?? 'user',
      policies: user.policies ?? [],
      tokenId: token.name,
      expiresAt: token.expiresAt,
      node: user.node || undefined,
    };
  }

  #expired(expiresAt: string | undefined): boolean {
    return expiresAt !== undefined && Date.parse(expiresAt) <= this.#clock.now();
  }

  /** Behind the request's back: nobody waits for it, and a failure takes nobody's access away. */
  #noteUse(token: Token): void {
    const now = this.#clock.now();
    const noted = this.#noted.get(token.name) ?? Date.parse(token.lastUsedAt || '1970-01-01');
    if (now - noted < lastUseMs || !this.#store.updateStatus) return;
    this.#noted.set(token.name, now);
    const oldest = this.#noted.keys().next();
    if (this.#noted.size > notedMax && !oldest.done) this.#noted.delete(oldest.value);
    const { uid } = token.metadata;
    const lastUsedAt = timestamp(this.#clock);
    const writing = this.#store
      .updateStatus(tokens, { name: token.name }, { lastUsedAt }, { uid })
      .catch((error: unknown) => {
        // Revoked meanwhile: there is nothing left to note.
        if (hasCode(error, 'NotFound') || hasCode(error, 'Aborted')) return;
        this.#logger.warn('the last use of a token was not noted', { error: messageOf(error) });
      })
      .then(() => {
        this.#under.delete(writing);
      });
    this.#under.add(writing);
  }
}
