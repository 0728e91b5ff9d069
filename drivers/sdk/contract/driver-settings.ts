/** The settings of one cloud driver, `[drivers.<name>]` in the node's configuration. */
export interface DriverSettings {
  /** Scheme, host and port of the provider's interface; default: the provider's public one. */
  readonly endpoint?: string;
  /** The directory of links to attached devices; default: /dev/disk/by-id. */
  readonly deviceDirectory?: string;
  /**
   * For drivers that take a token: the secret of the token of classes and volumes that name none, as
   * `<namespace>/<secret-name>` (specification section 9.2).
   */
  readonly apiTokenSecretRef?: string;
  readonly timeouts?: {
    /** Of one request, milliseconds; default 30,000. */
    readonly requestMs?: number;
    /** Until an attached device appears, milliseconds; default 30,000. */
    readonly deviceMs?: number;
  };
}
