import { verify } from 'node:crypto';
import type { Token } from '../core/machine.js';
import { bearerOf, type WireRequest } from '../core/wire.js';
import type { RefusalName } from './refusals.js';

const authPrefix = 'https://www.googleapis.com/auth/';

/** The access scope that includes all others. */
export const wholePlatform = `${authPrefix}cloud-platform`;

/** The sender of a request with valid credentials. */
export interface Caller {
  /** The email address of its service account. */
  readonly name: string;
  /** The access scopes of its credentials. A request needs both a scope and a permission of the account. */
  readonly scopes: readonly string[];
  may(permission: string): boolean;
}

interface Issued {
  readonly account: string;
  readonly scopes: readonly string[];
  readonly expiresAt: number;
}

const lifetimeMs = 3_600_000;
/** How far the clock of a signer may be ahead. */
const skewMs = 300_000;

function jsonOf(part: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // A part that is no JSON has no claims, so that the token is refused.
    return {};
  }
}

/**
 * The service accounts of the project. The secret of one is the public half of its key (PEM), with which the
 * signature of a self-signed token is verified, or a plain access token. Its scopes are its IAM permissions.
 */
export class Accounts {
  readonly #bySecret = new Map<string, Token>();
  readonly #issued = new Map<string, Issued>();
  #number = 0;

  add(account: Token): void {
    this.#bySecret.set(account.secret, account);
  }

  /** Removes an account with its keys and the tokens that the metadata server gave out for it. */
  remove(name: string): void {
    for (const [secret, account] of this.#bySecret)
      if (account.name === name) this.#bySecret.delete(secret);
    for (const [token, { account }] of this.#issued)
      if (account === name) this.#issued.delete(token);
  }

  get first(): string | undefined {
    const [account] = this.#bySecret.values();
    return account?.name;
  }

  /**
   * Gives out an access token for an account, as the metadata server does. Times are milliseconds of the signature
   * clock.
   */
  issue(
    account: string,
    scopes: readonly string[],
    now: number,
  ): { token: string; expiresAt: number } {
    this.#number += 1;
    const token = `ya29.emulated-${this.#number}`;
    const expiresAt = now + lifetimeMs;
    this.#issued.set(token, { account, scopes, expiresAt });
    return { token, expiresAt };
  }

  /** Returns the sender of a request, or the refusal of its credentials. */
  callerOf(request: WireRequest, now: number): Caller | RefusalName {
    const bearer = bearerOf(request);
    if (bearer === undefined) return 'noCredentials';
    const issued = this.#issued.get(bearer);
    if (issued)
      return issued.expiresAt > now
        ? this.#caller(issued.account, issued.scopes)
        : 'badCredentials';
    const known = this.#bySecret.get(bearer);
    // The public key of an account is no credential.
    if (known && !isPublicKey(known.secret)) return this.#caller(known.name, [wholePlatform]);
    return this.#signer(bearer, now);
  }

  #caller(name: string, scopes: readonly string[]): Caller | RefusalName {
    const account = [...this.#bySecret.values()].find((one) => one.name === name);
    if (!account) return 'badCredentials';
    const may = (permission: string): boolean => account.scopes?.includes(permission) ?? true;
    return { name, scopes, may };
  }

  /** Verifies a self-signed token: signature, issuer, times, and scope or audience. */
  #signer(token: string, now: number): Caller | RefusalName {
    const [head, body, signature, ...rest] = token.split('.');
    if (!head || !body || !signature || rest.length > 0) return 'badCredentials';
    const { alg } = jsonOf(head);
    const { iss, sub, iat, exp, aud, scope } = jsonOf(body);
    if (alg !== 'RS256' || typeof iss !== 'string' || iss !== sub) return 'badCredentials';
    const signed = Buffer.from(`${head}.${body}`);
    const sign = Buffer.from(signature, 'base64url');
    const genuine = [...this.#bySecret.values()].some(
      ({ name, secret }) =>
        name === iss && isPublicKey(secret) && verify('RSA-SHA256', signed, secret, sign),
    );
    if (!genuine || typeof iat !== 'number' || typeof exp !== 'number') return 'badCredentials';
    const current = iat * 1000 <= now + skewMs && exp * 1000 > now;
    if (!current || (exp - iat) * 1000 > lifetimeMs) return 'badCredentials';
    if (typeof scope === 'string') return this.#caller(iss, scope.split(' '));
    const forUs = aud === 'https://compute.googleapis.com/';
    return forUs ? this.#caller(iss, [wholePlatform]) : 'badCredentials';
  }
}

function isPublicKey(secret: string): boolean {
  return secret.startsWith('-----BEGIN PUBLIC KEY-----');
}

/** Whether access scopes allow a request to the compute API. */
export function allowedBy(scopes: readonly string[], method: string): boolean {
  const names = scopes.map((scope) => scope.replace(authPrefix, ''));
  const reads = method === 'GET' && names.includes('compute.readonly');
  return reads || names.includes('cloud-platform') || names.includes('compute');
}
