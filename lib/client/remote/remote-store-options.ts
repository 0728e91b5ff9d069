import type { Clock, Logger, Random } from '../../base/index.js';
import type { AnyKind } from '../../object/index.js';
import type { RemoteConnection } from './remote-calls.js';

/** Options of a remote store. */
export interface RemoteStoreOptions extends RemoteConnection {
  /** Kinds whose secret values `get` reveals; needs the right `reveal`. */
  readonly reveal?: readonly AnyKind[];
  /** Called when the server's store was restored or replaced, with the id of the new store. */
  readonly onOtherStore?: (storeId: string) => void;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}
