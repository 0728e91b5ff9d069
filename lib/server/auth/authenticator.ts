import {
  type Clock,
  hasCode,
  type Logger,
  messageOf,
  silentLogger,
  StatusError,
  timestamp,
} from '../../base/index.js';
import { after, type Later, promised, together } from '../../base/promises/later.js';
import type { AnyKind } from '../../object/index.js';
import type { ObjectStore } from '../../store/index.js';
import {
  bindGrants,
  bindPolicies,
  bindToken,
  type GrantBinding,
  isGone,
  type LeftToken,
  meetsNode,
} from './grants.js';
import type { Identity } from './identity.js';
import { type Token, tokens, type User, users } from './kinds.js';
import { ancestorsMax } from './token-ancestors.js';
import { type GrantReads, ProvenTokens } from './proven-tokens.js';
import { parseToken, secretMatches } from './token-format.js';

/** Authenticates callers by the `authorization` header. {@link Authenticator} is the built-in one. */
export interface Authentication {
  /** Returns the identity of a caller. @throws StatusError Unauthenticated */
  authenticate(header: string | undefined): Promise<Identity>;
  /**
   * Authenticates the caller of a stream again: when the stream begins, and after changes of users, tokens, policies and
   * nodes in the store. Then its right is checked again too. A call that hangs delays the end of its own stream, and the
   * checks after the next change by a second at most. Absent: the stream ends only when its token expires.
   * @throws StatusError Unauthenticated
   */
  recheck?(identity: Identity): Promise<Identity>;
}

/**
 * Compared instead of the stored hash for an unknown token, so that unknown and known tokens take about the same time.
 */
const noHash = '0'.repeat(64);

/** Maximum number of tokens whose last use is kept in memory. */
const notedMax = 16_384;

function refused(reason: string, message: string): StatusError {
  return new StatusError({ code: 'Unauthenticated', reason, message });
}

/** The same answer for all invalid tokens: a difference would help an attacker who guesses tokens. */
function invalidToken(): StatusError {
  return refused(
    'InvalidToken',
    'the bearer token is not valid, was revoked or has expired; use another token',
  );
}

/** Options of the built-in authenticator. */
export interface AuthenticatorOptions {
  readonly store: GrantBinding['store'] & Pick<ObjectStore, 'list'>;
  readonly clock: Clock;
  readonly logger?: Logger;
  /** The kind of nodes that accounts refer to. Absent: accounts are not bound to a node's uid. */
  readonly nodes?: AnyKind | undefined;
}

/** Minimum interval between two stored uses of a token. */
const lastUseMs = 60_000;

/** Authenticates by bearer tokens in the store, and records the last use of each. */
export class Authenticator implements Authentication {
  readonly #store: AuthenticatorOptions['store'];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #nodes: AnyKind | undefined;
  readonly #binding: GrantBinding;
  /** Time of the last recorded use of a token, by its id. */
  readonly #noted = new Map<string, number>();
  readonly #under = new Set<Promise<void>>();
  readonly #proven = new ProvenTokens();

  constructor({ store, clock, logger = silentLogger, nodes }: AuthenticatorOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
    this.#nodes = nodes;
    this.#binding = {
      store,
      onFailure: (error) => {
        this.#logger.warn('a policy was not bound to its user, will retry', {
          error: messageOf(error),
        });
      },
    };
  }

  /**
   * Authenticates a caller by a bearer token, and records the use of the token.
   * @param header the value of `authorization`, `Bearer <token>`
   * @throws StatusError Unauthenticated: TokenRequired without a token, NodeGone for the account of a deleted node, and
   * one message for every other invalid token
   */
  authenticate(header: string | undefined): Promise<Identity> {
    return promised(() => {
      if (header === undefined || header === '')
        throw refused(
          'TokenRequired',
          'a bearer token is required: send "authorization: Bearer <token>"',
        );
      const key = this.#proven.keyOf(header);
      return after(this.#stillProven(key), (identity) => identity ?? this.#prove(header, key));
    });
  }

  async #prove(header: string, key: string): Promise<Identity> {
    const text = /^Bearer +(\S+)$/i.exec(header)?.[1];
    const parsed = text === undefined ? undefined : parseToken(text);
    const token = parsed && (await this.#store.get(tokens, { name: parsed.id }));
    const matches = secretMatches(parsed?.secret ?? '', token?.secretHash ?? noHash);
    if (!token || !matches) throw invalidToken();
    const reads: GrantReads = { tokens: [], users: [] };
    const identity = await this.#identityOf(token, reads);
    this.#proven.note(key, { ...reads, token, identity });
    this.#noteUse(token);
    return identity;
  }

  /** The identity of a header that was proven before, if nothing that it was made of has changed. */
  #stillProven(key: string): Later<Identity | undefined> {
    const proof = this.#proven.get(key);
    if (!proof) return undefined;
    const { token, identity } = proof;
    return after(this.#holds(proof), (holds) => {
      if (holds) this.#noteUse(token);
      else this.#proven.forget(key);
      return holds ? identity : undefined;
    });
  }

  #holds(reads: GrantReads): Later<boolean> {
    const stored: Promise<Token | User | undefined>[] = [];
    for (const { name } of reads.tokens) stored.push(this.#store.get(tokens, { name }));
    for (const { name } of reads.users) stored.push(this.#store.get(users, { name }));
    return after(together(stored), (found) => {
      let at = 0;
      for (const token of reads.tokens) {
        if (found[at] !== token || this.#expired(token.expiresAt)) return false;
        at += 1;
      }
      return reads.users.every((user, offset) => found[at + offset] === user);
    });
  }

  /**
   * Authenticates the same caller against the present state.
   * @throws StatusError Unauthenticated
   */
  async recheck(identity: Identity): Promise<Identity> {
    const token = await this.#store.get(tokens, { name: identity.tokenId });
    if (!token) throw invalidToken();
    return this.#identityOf(token, { tokens: [], users: [] });
  }

  /**
   * Binds to uids the grants that an earlier release stored with names only. Call it before others can write. Resolves
   * to the unbound tokens that are older than the user whom their subject names; they are logged and refused.
   */
  async bindGrants(): Promise<readonly LeftToken[]> {
    const left = await bindGrants(this.#store, this.#binding.onFailure);
    for (const { id, subject } of left)
      this.#logger.warn(
        'a token is refused: it is older than the user of its name and belonged to a previous user; revoke it',
        { token: id, user: subject },
      );
    return left;
  }

  /** Resolves when the writes of all recorded uses have ended. */
  async flush(): Promise<void> {
    await Promise.all(this.#under);
  }

  /** The identity of a token; adds to `reads` what it is made of. */
  async #identityOf(
    token: Token,
    reads: GrantReads,
    ancestorsLeft: number = ancestorsMax,
  ): Promise<Identity> {
    if (isGone(token) || this.#expired(token.expiresAt)) throw invalidToken();
    const parent = await this.#parentOf(token, reads, ancestorsLeft);
    const user = await this.#store.get(users, { name: token.subject });
    if (!user || isGone(user)) throw invalidToken();
    reads.tokens.push(token);
    reads.users.push(user);
    // A token is bound to the user's uid: a recreated user of that name does not own it.
    const subjectUid = await bindToken(this.#binding, token, user);
    if (subjectUid !== user.metadata.uid) throw invalidToken();
    const node = user.node || undefined;
    if (node !== undefined) await this.#requireNode(user, node);
    return {
      subject: user.name,
      uid: user.metadata.uid,
      kind: user.kind ?? 'user',
      policies: user.policies ?? [],
      policyUids: await bindPolicies(this.#binding, user),
      tokenId: token.name,
      tokenUid: token.metadata.uid,
      ...(parent ? { parent } : {}),
      expiresAt: token.expiresAt,
      node,
    };
  }

  /**
   * Returns the identity of the parent token, without which a token is not valid; undefined for a token without a
   * parent.
   * @throws StatusError Unauthenticated
   */
  async #parentOf(token: Token, reads: GrantReads, left: number): Promise<Identity | undefined> {
    const { maker: id, makerUid } = token;
    if (makerUid === undefined) return undefined;
    const parent = id && left > 0 ? await this.#store.get(tokens, { name: id }) : undefined;
    if (parent?.metadata.uid !== makerUid) throw invalidToken();
    return this.#identityOf(parent, reads, left - 1);
  }

  async #requireNode(user: User, name: string): Promise<void> {
    if (!this.#nodes) return;
    const node = await this.#store.get(this.#nodes, { name });
    if (await meetsNode(this.#binding, user, node)) return;
    throw refused(
      'NodeGone',
      `account "${user.name}" belongs to a deleted node "${name}"; create a new account and token for the node`,
    );
  }

  #expired(expiresAt: string | undefined): boolean {
    return expiresAt !== undefined && Date.parse(expiresAt) <= this.#clock.now();
  }

  /** Records the use of a token in the background: the write is not awaited, and its failure does not affect access. */
  #noteUse(token: Token): void {
    const now = this.#clock.now();
    const noted = this.#noted.get(token.name) ?? Date.parse(token.lastUsedAt || '1970-01-01');
    if (now - noted < lastUseMs) return;
    this.#noted.set(token.name, now);
    const oldest = this.#noted.keys().next();
    if (this.#noted.size > notedMax && !oldest.done) this.#noted.delete(oldest.value);
    const { uid } = token.metadata;
    const lastUsedAt = timestamp(this.#clock);
    const writing = this.#store
      .updateStatus(tokens, { name: token.name }, { lastUsedAt }, { uid })
      .catch((error: unknown) => {
        // The token was revoked meanwhile.
        if (hasCode(error, 'NotFound') || hasCode(error, 'Aborted')) return;
        this.#logger.warn('the last use of a token was not recorded', { error: messageOf(error) });
      })
      .then(() => {
        this.#under.delete(writing);
      });
    this.#under.add(writing);
  }
}
