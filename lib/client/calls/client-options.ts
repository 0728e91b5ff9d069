import { someText, withMethods } from '../../base/index.js';
import type { SchemaRegistry } from '../../rpc/index.js';

/** What options are judged by. */
export const clientRules = {
  server: someText('host:port of the gRPC endpoint'),
  schemas: withMethods('a SchemaRegistry', 'services'),
  packageName: someText('the protobuf package whose services are called'),
  keepaliveMs: { give: 'milliseconds, a whole number above 0', fits: isTime, optional: true },
};

/** Timers of Node.js take no more. */
const timerMaxMs = 2 ** 31 - 1;

function isTime(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= timerMaxMs;
}

/** Gives the token to call with; `renew` asks for another than the last one. */
export type TokenSource = (renew: boolean) => Promise<string | undefined>;

/** Where and as whom a client calls. */
export interface ApiClientOptions {
  /** `host:port` of the gRPC endpoint. */
  readonly server: string;
  /**
   * The bearer token, or where to get one: asked again, with `renew` true, when the server says
   * that it is no longer good.
   */
  readonly token: string | undefined | TokenSource;
  readonly schemas: SchemaRegistry;
  readonly packageName: string;
  /** Deadline of one try of a unary call in milliseconds; default 30 s. */
  readonly timeoutMs?: number;
  /** How often unary calls are tried in all, where that is safe; default 1. */
  readonly retry?: { readonly attempts: number };
  /** Absent: in the clear. */
  readonly tls?: ClientTls;
  /**
   * While calls are open the server is asked for a sign of life this often, in milliseconds, and has as long
   * to give it; default 10 s. Then the connection is taken for dead: calls fail as Unavailable, and later
   * ones get a new one.
   */
  readonly keepaliveMs?: number;
}

/** What one call may have of its own. */
export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** How often it is tried in all where that is safe; default: the client's. */
  readonly attempts?: number;
  /** Told before a try whose answer was lost is repeated: it may have been done. */
  readonly onLostAnswer?: () => void;
}

/** Certificates of a connection, PEM. */
export interface ClientTls {
  /** Authorities that the server's certificate is checked with; default: the system's. */
  readonly ca?: Buffer;
  /** For mutual TLS. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}
