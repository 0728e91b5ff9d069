/** A call of {@link ClassInspection}, which concerns a class instead of a volume. */
export interface ClassRequest {
  /** Of the class, in plaintext. */
  readonly parameters: Readonly<Record<string, string>>;
  /** A node to look up. */
  readonly node: string;
  readonly signal: AbortSignal;
}

/** The state of one need of a class: a permission of its credential, or what the node and the settings supply. */
export interface PermissionReport {
  /** As the provider names it: `droplet:read`. Otherwise a parameter, a setting or a program. */
  readonly permission: string;
  /** `unknown`: it can't be found out without a change, or its check failed for another reason. */
  readonly state: 'ok' | 'missing' | 'unknown';
  /** The work that fails without it. */
  readonly needed: string;
  /** Explains the state, in the words of the provider or of the driver; with the remedy if one is known. */
  readonly message?: string;
}

/** A call of {@link ClassInspection.orphans}. The calls of one command, for several classes, have the same signal. */
export interface OrphanRequest extends ClassRequest {
  /** Whether to list also resources that do not have the mark of this cluster. */
  readonly all?: boolean;
}

/** A call of {@link ClassInspection.find}. */
export interface FindRequest extends ClassRequest {
  readonly handle: string;
}

/** A resource at the provider, for a comparison with the objects of this cluster. */
export interface ProviderResource {
  readonly type: 'volume' | 'snapshot';
  readonly handle: string;
  /** An identifier that no other resource has, if one resource may have several handles. Default: the handle. */
  readonly identity?: string;
  readonly name: string;
  /** Undefined: the driver enforces no sizes. */
  readonly sizeBytes: bigint | undefined;
  /** Namespace and name of the object that it was created for, as far as it is marked with them. */
  readonly createdFor?: string;
  /** Uid of the volume or snapshot that it was created for; absent: unreadable. */
  readonly uid?: string;
  /** The id of the cluster that created it; absent: it has no mark. */
  readonly cluster?: string;
  /** The provider's id of the instance to which a volume is attached; absent if it is attached to none. */
  readonly instance?: string;
  /** The node labels that decide where it can be attached. */
  readonly topology?: Readonly<Record<string, string>>;
}

/** The resources at a provider that a class can see. */
export interface OrphanListing {
  /**
   * With `all`, those of every cluster. Otherwise those with the mark of this cluster, and those without a mark that this
   * cluster may have created: the command counts these in a warning.
   */
  readonly resources: readonly ProviderResource[];
  /** The resources that could not be listed, each with the reason. */
  readonly warnings: readonly string[];
}

/** The optional calls of a driver that concern a class instead of a volume. They change nothing. */
export interface ClassInspection {
  /**
   * Reports the state of each need of a class: programs of the node, settings, and permissions of its credential.
   * Changes nothing.
   */
  readonly check?: (request: ClassRequest) => Promise<readonly PermissionReport[]>;
  /** The volumes and snapshots at the provider, for a comparison with objects. Absent: the driver can't list any. */
  readonly orphans?: (request: OrphanRequest) => Promise<OrphanListing>;
  /**
   * A volume at the provider that this driver may not have created, to bring it under management. Changes nothing.
   * Absent: the driver can't import volumes. @throws DriverError NotFound; other kinds if
   * the provider refuses the call
   */
  readonly find?: (request: FindRequest) => Promise<ProviderResource>;
}
