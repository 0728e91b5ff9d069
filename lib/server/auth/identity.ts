/** Who is calling, once proven. */
export interface Identity {
  readonly subject: string;
  /** Of the account: another one of the same name, made later, has another. Absent where there are no uids. */
  readonly uid?: string;
  readonly kind: 'user' | 'serviceAccount';
  readonly policies: readonly string[];
  /** The uid of each of them; absent where rights come from elsewhere and go by name. */
  readonly policyUids?: Readonly<Record<string, string>>;
  readonly tokenId: string;
  /** Of that token; absent where tokens are no objects. */
  readonly tokenUid?: string;
  /** Who made that token, with another one. What this one may not do, the caller may not. */
  readonly maker?: Identity;
  /** RFC 3339; absent for a token that does not expire. */
  readonly expiresAt: string | undefined;
  /** The node that an agent's service account speaks for; see {@link ObjectAccess}. */
  readonly node?: string | undefined;
}
