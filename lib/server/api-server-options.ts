import {
  type Clock,
  type Logger,
  type Metrics,
  portRules,
  type Random,
  someText,
  storeRule,
  withMethods,
} from '../base/index.js';
import type { AnyKind } from '../object/index.js';
import type { SchemaRegistry } from '../rpc/index.js';
import type { ObjectStore } from '../store/index.js';
import type { PendingCommit } from './admission/validated-writes.js';
import type { AuditSink } from './api/audit.js';
import type { CustomMethod } from './api/call.js';
import type { ObjectAccess } from './api/object-access.js';
import type { ServedKind } from './api/served-kind.js';
import type { AccessControl, Authentication } from './auth/index.js';
import type { ApiParts } from './methods/api-parts.js';
import type { Comments } from './schema/openapi.js';
import type { ConnectionBounds } from './transport/connections.js';
import type { TlsSource } from './transport/tls.js';

/** Rules for the options. */
export const serverRules = {
  store: storeRule,
  schemas: withMethods('a SchemaRegistry', 'services'),
  packageName: someText('the protobuf package of the services'),
  kinds: {
    give: 'an array of the results of serve(), or `kinds` of describeKinds()',
    fits: Array.isArray,
  },
  ...portRules,
};

/** Options of an API server. */
export interface ApiServerOptions {
  readonly store: ObjectStore;
  readonly schemas: SchemaRegistry;
  /** Protobuf package whose services are served. */
  readonly packageName: string;
  readonly kinds: readonly ServedKind[];
  /** Methods outside of the CRUD pattern; created from the server's parts. */
  readonly custom?: (parts: ApiParts) => readonly CustomMethod[];
  /** Default: bearer tokens in the store. */
  readonly authenticator?: Authentication;
  /** Default: policies in the store. */
  readonly authorizer?: AccessControl;
  /** Restricts the access that policies allow, by object. */
  readonly objectAccess?: ObjectAccess;
  /**
   * The kind of nodes of node accounts: an account belongs to one node object, not to a later one of that name.
   */
  readonly nodes?: AnyKind;
  /**
   * The kind of namespaces: a namespaced object without its namespace is refused. Default: none, namespaces are not
   * checked.
   */
  readonly namespaces?: AnyKind;
  /** Receives a record of every call, as far as it wants them. */
  readonly audit?: AuditSink;
  /** Certificates; absent: plaintext. */
  readonly tls?: TlsSource;
  /** Allowed CORS origins of REST; absent or empty: none. */
  readonly corsOrigins?: readonly string[];
  /** Limits of the connections of each transport; an omitted one has its default. */
  readonly connections?: Partial<ConnectionBounds>;
  /** Comments of methods, messages and fields for the OpenAPI document, by full name. */
  readonly comments?: () => Promise<Comments>;
  /** The state of the gRPC health service; default: always serving. */
  readonly serving?: () => boolean;
  /** Awaited between validation and commit of a write, for tests of races. */
  readonly beforeCommit?: (pending: PendingCommit) => Promise<void>;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

/** The listening addresses of the transports. */
export interface ListenAddresses {
  readonly grpc: { readonly host: string; readonly port: number };
  readonly rest: { readonly host: string; readonly port: number };
}

/** The server as a part of a manager. */
export interface ServerRunnableOptions {
  /** Name in the manager's health and errors; default `api`. */
  readonly name?: string;
  /** Called with the ports when both transports listen; port 0 is replaced by the actual port. */
  readonly onListening?: (ports: { readonly grpc: number; readonly rest: number }) => void;
}
