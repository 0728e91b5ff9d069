import type { Driver, Parameters } from '../contract/driver.js';

/** Options of the suite. */
export interface ConformanceOptions {
  /** A new instance each time: it must find again what an earlier one made, as after a crash. */
  readonly driver: () => Driver | Promise<Driver>;
  /** Plaintext, as the driver gets them. */
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
   * Parameters that pass as references and are wrong once resolved, such as `{fsType: 'btrfs'}`; each is
   * merged into {@link parameters}. Without them, the judgement of resolved values is not checked.
   */
  readonly invalidParameters?: readonly Parameters[];
  /** Whether volumes may be mounted here; false leaves out what needs content. Default true. */
  readonly mounts?: boolean;
  /**
   * The resources at the provider, by any names. The suite requires that they are the same at the end as at the
   * start.
   */
  readonly inventory?: () => Promise<readonly string[]>;
  /** Timeout of one call, milliseconds; default 60,000. */
  readonly callTimeoutMs?: number;
  /** Timeout until a cancelled call ends, milliseconds; default 10,000. */
  readonly cancelTimeoutMs?: number;
}
