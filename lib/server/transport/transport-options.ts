import type { Random } from '../../base/index.js';
import type { SchemaRegistry } from '../../rpc/index.js';
import type { Dispatcher } from '../chain/dispatcher.js';
import type { ConnectionPorts } from './connections.js';
import type { WaitingBytes } from './paced-writes.js';
import type { TlsSource } from './tls.js';

/** The common dependencies of both transports. */
export interface TransportOptions extends ConnectionPorts {
  readonly dispatcher: Dispatcher;
  readonly schemas: SchemaRegistry;
  readonly random: Random;
  /** The buffered messages of stream readers, over both transports. */
  readonly waiting: WaitingBytes;
  /** Certificates of the transport; undefined: plaintext. */
  readonly tls: TlsSource | undefined;
}
