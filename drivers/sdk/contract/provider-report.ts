/** The request of {@link Driver.check} and {@link Driver.orphans}, which concern a class instead of a volume. */
export interface ClassRequest {
  /** Of the class, in plaintext. */
  readonly parameters: Readonly<Record<string, string>>;
  /** A node to look up. */
  readonly node: string;
  readonly signal: AbortSignal;
}

/** The state of one permission of a credential. */
export interface PermissionReport {
  /** As the provider names it: `droplet:read`. */
  readonly permission: string;
  /** `unknown`: it can't be found out without a change. */
  readonly state: 'ok' | 'missing' | 'unknown';
  /** What does not work without it. */
  readonly needed: string;
  /** The provider's words. */
  readonly message?: string;
}

/** A resource at the provider that this installation has created, for a comparison with its objects. */
export interface ProviderResource {
  readonly type: 'volume' | 'snapshot';
  readonly handle: string;
  readonly name: string;
  readonly sizeBytes: bigint;
  /** Uid of the volume or snapshot that it was created for; absent: unreadable. */
  readonly uid?: string;
  /** The installation that created it; absent: unknown. */
  readonly cluster?: string;
  /** The instance it is attached to. */
  readonly instance?: string;
}

/** The resources of an installation. */
export interface OrphanListing {
  readonly resources: readonly ProviderResource[];
  /** What could not be listed, and why. */
  readonly warnings: readonly string[];
}
