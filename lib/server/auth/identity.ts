/** The authenticated caller. */
export interface Identity {
  readonly subject: string;
  /** Uid of the account; a recreated account has another one. Absent without uids. */
  readonly uid?: string;
  readonly kind: 'user' | 'serviceAccount';
  readonly policies: readonly string[];
  /** The uid of each policy; absent if rights are matched by name. */
  readonly policyUids?: Readonly<Record<string, string>>;
  readonly tokenId: string;
  /** Uid of the token; absent if tokens are not objects. */
  readonly tokenUid?: string;
  /** The creator of the token. The caller's rights are limited to those of the creator. */
  readonly parent?: Identity;
  /** RFC 3339; absent for a token that does not expire. */
  readonly expiresAt: string | undefined;
  /** The node of an agent's service account; see {@link ObjectAccess}. */
  readonly node?: string | undefined;
}
