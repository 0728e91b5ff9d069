import { someText, withMethods } from '../../base/index.js';
import type { SchemaRegistry } from '../../rpc/index.js';

/** Rules for the options. */
export const clientRules = {
  server: someText('host:port of the gRPC endpoint'),
  schemas: withMethods('a SchemaRegistry', 'services'),
  packageName: someText('the protobuf package of the services'),
  keepaliveMs: {
    give: 'milliseconds, a whole number from 1 to 2147483647',
    fits: isTime,
    optional: true,
  },
};

/** The maximum of Node.js timers, in milliseconds. */
const timerMaxMs = 2 ** 31 - 1;

function isTime(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= timerMaxMs;
}

/** Returns the bearer token of a call; undefined for a call without one. `renew` requests a new token. */
export type TokenSource = (renew: boolean) => Promise<string | undefined>;

/** Server and credentials of a client. */
export interface ApiClientOptions {
  /** `host:port` of the gRPC endpoint. */
  readonly server: string;
  /**
   * The bearer token, or a function that returns one. The function is called again with `renew`
   * true when the server refuses the token.
   */
  readonly token: string | undefined | TokenSource;
  readonly schemas: SchemaRegistry;
  readonly packageName: string;
  /**
   * Deadline of one attempt of a unary call, and of the connection of a stream, in milliseconds; default 30 s. A call
   * whose deadline has passed is not repeated.
   */
  readonly timeoutMs?: number;
  /** Maximum number of attempts of unary calls that are safe to repeat, including the first; default 1. */
  readonly retry?: { readonly attempts: number };
  /** TLS of the connections; absent: plaintext. */
  readonly tls?: ClientTls;
  /**
   * Keepalive interval and timeout while calls are open, in milliseconds; default 10 s. After the
   * timeout the connection counts as dead: its calls fail as Unavailable, and later calls use a new
   * connection.
   */
  readonly keepaliveMs?: number;
}

/** Options of one call. */
export interface CallOptions {
  /** Deadline of one attempt in milliseconds; default: that of the client. */
  readonly timeoutMs?: number;
  /** Cancels the call, which then fails as Cancelled, or with the error of its last attempt before a repetition. */
  readonly signal?: AbortSignal;
  /** Maximum number of attempts if the call is safe to repeat; default: that of the client. */
  readonly attempts?: number;
  /** Called before a call whose answer was lost is repeated: it may have been executed. */
  readonly onLostAnswer?: () => void;
}

/** Certificates of a connection, PEM. */
export interface ClientTls {
  /** Certificate authorities of the server's certificate; default: the system's. */
  readonly ca?: Buffer;
  /** The client's certificate, for mutual TLS. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}
