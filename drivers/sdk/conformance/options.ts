import type { Driver, Parameters } from '../contract/driver.js';

/** Options of the suite. */
export interface ConformanceOptions {
  /** Creates a driver instance, which must find the resources of earlier instances, as after a crash. */
  readonly driver: () => Driver | Promise<Driver>;
  /** Plaintext, as the driver receives them. */
  readonly parameters?: Parameters;
  /** Size of volumes in bytes; default 16 MiB. */
  readonly sizeBytes?: bigint;
  /** Name of the node that this runs on; default "conformance". */
  readonly node?: string;
  /** A second node that the driver could attach to. Without it, checks over two nodes are left out. */
  readonly otherNode?: string;
  /** A node that the driver can't find. Without it, its refusal is not checked. */
  readonly unknownNode?: string;
  /**
   * Parameters that are valid as references and invalid when resolved, such as `{fsType: 'btrfs'}`; each is
   * merged into {@link parameters}. Without them, the validation of resolved values is not checked.
   */
  readonly invalidParameters?: readonly Parameters[];
  /** Whether volumes may be mounted here; without mounts, checks of content are left out. Default true. */
  readonly mounts?: boolean;
  /**
   * The resources at the provider, by any names. Each check requires that none remains that was not there before it.
   */
  readonly inventory?: () => Promise<readonly string[]>;
  /** Timeout of one call, milliseconds; default 60,000. */
  readonly callTimeoutMs?: number;
  /** Timeout until a cancelled call ends, milliseconds; default 10,000. */
  readonly cancelTimeoutMs?: number;
}
