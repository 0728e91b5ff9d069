import type { Clock, Logger, Random } from '../../base/index.js';
import type { AnyKind } from '../../object/index.js';
import type { RemoteConnection } from './remote-calls.js';

/** Where a store in another process is, and what it may take. */
export interface RemoteStoreOptions extends RemoteConnection {
  /** Kinds whose secret values `get` asks for; needs the right `reveal` to them. */
  readonly reveal?: readonly AnyKind[];
  /** Told when the server turned out to have another store than before: restored, or replaced. */
  readonly onOtherStore?: (storeId: string) => void;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}
