import { type Clock, StatusError } from '../../base/index.js';
import type { StoreReader } from '../../store/index.js';
import { tokens, users } from './kinds.js';
import { parseToken, secretMatches } from './token-format.js';

/** Who is calling, once proven. */
export interface Identity {
  readonly subject: string;
  readonly kind: 'user' | 'serviceAccount';
  readonly policies: readonly string[];
  readonly tokenId: string;
  /** RFC 3339; absent for a token that does not expire. */
  readonly expiresAt: string | undefined;
}

/** Proves who calls by the value of the `authorization` header. {@link Authenticator} is the built-in one. */
export interface Authentication {
  /** @throws StatusError Unauthenticated */
  authenticate(header: string | undefined): Promise<Identity>;
}

/** Compared against when no such token exists, so that both cases take the same time. */
const noHash = '0'.repeat(64);

function refused(message: string): StatusError {
  return new StatusError({ code: 'Unauthenticated', reason: 'Unauthenticated', message });
}

/** Proves identities by bearer tokens kept in the store. */
export class Authenticator implements Authentication {
  readonly #store: Pick<StoreReader, 'get'>;
  readonly #clock: Clock;

  constructor(store: Pick<StoreReader, 'get'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * @param header the value of `authorization`, `Bearer <token>`
   * @throws StatusError Unauthenticated, with one message for every kind of wrong token
   */
  async authenticate(header: string | undefined): Promise<Identity> {
    if (header === undefined || header === '')
      throw refused('a bearer token is required: send "authorization: Bearer <token>"');
    const text = /^Bearer +(\S+)$/i.exec(header)?.[1];
    const parsed = text === undefined ? undefined : parseToken(text);
    const token = parsed && (await this.#store.get(tokens, { name: parsed.id }));
    const matches = secretMatches(parsed?.secret ?? '', token?.secretHash ?? noHash);
    if (!token || !matches || this.#expired(token.expiresAt))
      throw refused('the bearer token is not valid, was revoked or has expired');
    const user = await this.#store.get(users, { name: token.subject });
    if (!user) throw refused('the bearer token is not valid, was revoked or has expired');
    return {
      subject: user.name,
      kind: user.kind ?? 'user',
      policies: user.policies ?? [],
      tokenId: token.name,
      expiresAt: token.expiresAt,
    };
  }

  #expired(expiresAt: string | undefined): boolean {
    return expiresAt !== undefined && Date.parse(expiresAt) <= this.#clock.now();
  }
}
