import type { Random } from '../../base/index.js';
import type { SchemaRegistry } from '../../rpc/index.js';
import type { Dispatcher } from '../chain/dispatcher.js';
import type { ConnectionPorts } from './connections.js';
import type { TlsSource } from './tls.js';

/** What both transports are made of. */
export interface TransportOptions extends ConnectionPorts {
  readonly dispatcher: Dispatcher;
  readonly schemas: SchemaRegistry;
  readonly random: Random;
  /** Absent: in the clear. */
  readonly tls: TlsSource | undefined;
}
