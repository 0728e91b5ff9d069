import type { CredentialsByDriver } from './declared-credentials.js';
import type { Driver, Parameters } from './driver.js';

/** The drivers of a daemon. Each is loaded at its first use. */
export interface DriverRegistry {
  readonly names: readonly string[];
  /**
   * The names of those whose data is on nodes of the cluster, known before they are loaded. More of their volumes are
   * reconciled at once. Absent: none.
   */
  readonly onNodes?: readonly string[];
  /**
   * The credentials that drivers declare by their capabilities, known before they are loaded. With them, nodes read no
   * secret of a class that no call uses, and such a secret is not kept for deletions. Absent: none are known.
   */
  readonly declaredCredentials?: CredentialsByDriver;
  /** The driver of this name; undefined if it is not registered. */
  get(name: string): Promise<Driver | undefined>;
  /**
   * The parameters of a driver that the node's configuration has for classes and volumes which name no credentials.
   * Absent: none.
   */
  credentialsOf?(name: string): Parameters;
}
