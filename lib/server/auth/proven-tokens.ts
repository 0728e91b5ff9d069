import { hash } from 'node:crypto';
import type { Identity } from './identity.js';
import type { Token, User } from './kinds.js';

/** Maximum number of tokens whose proof is kept. */
const provenMax = 1_024;

/** The stored objects that an identity depends on: its token, the parents of the token, and their users. */
export interface GrantReads {
  readonly tokens: Token[];
  readonly users: User[];
}

/** A header whose token was proven. */
export interface Proof extends GrantReads {
  readonly token: Token;
  readonly identity: Identity;
}

/**
 * Recently proven `authorization` headers. A proof holds only as long as the store returns the same objects: they are
 * immutable, and every write makes another one. Headers are kept as digests, never as text.
 */
export class ProvenTokens {
  readonly #proofs = new Map<string, Proof>();

  /** The key of a header. */
  keyOf(header: string): string {
    return hash('sha256', header, 'base64');
  }

  get(key: string): Proof | undefined {
    return this.#proofs.get(key);
  }

  /**
   * Keeps a proof. No-op while a grant is not bound to a uid (the next use binds it), and for the account of a node.
   */
  note(key: string, proof: Proof): void {
    if (!proof.tokens.every(isBound) || !proof.users.every(isSettled)) return;
    this.#proofs.delete(key);
    this.#proofs.set(key, proof);
    const oldest = this.#proofs.keys().next();
    if (this.#proofs.size > provenMax && !oldest.done) this.#proofs.delete(oldest.value);
  }

  forget(key: string): void {
    this.#proofs.delete(key);
  }
}

function isBound({ subjectUid }: Token): boolean {
  return subjectUid !== undefined;
}

function isSettled({ node, policies = [], policyUids = {} }: User): boolean {
  return !node && policies.every((name) => policyUids[name] !== undefined);
}
