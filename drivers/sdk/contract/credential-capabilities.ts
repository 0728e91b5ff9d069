/** The capabilities of a driver that concern credentials. */
export interface CredentialCapabilities {
  /** Parameters whose literal values are credentials. */
  readonly sensitiveParameters: readonly string[];
  /**
   * Parameters that choose the credentials of a call, in addition to {@link sensitiveParameters}: a call takes them
   * from the live class, present or absent.
   */
  readonly credentialParameters?: readonly string[];
  /**
   * The sets of parameters of which each is a whole credential. The driver uses the first one that is present. A volume
   * that has all of one set uses no credential of its class beside it, except one that an earlier release captured
   * (decision 0102). A part of a set is completed by the class. Not declared: the parameters of a class and its volume
   * are merged key by key.
   */
  readonly wholeCredentials?: readonly (readonly string[])[];
}
