import type { StatusCode } from '../../base/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { Access, Identity } from '../auth/index.js';

/** The origin of a call. */
export interface Peer {
  readonly address: string;
  readonly loopback: boolean;
}

/** The context of a call for a handler. */
export interface CallContext {
  readonly identity: Identity;
  readonly peer: Peer;
  readonly requestId: string;
  readonly transport: 'grpc' | 'rest';
  /** Returns the evidence that the caller is not the peer of the connection; undefined without evidence. */
  readonly indirection?: () => string | undefined;
  /**
   * Aborts when the caller disconnects, the deadline passes, the server stops, or the call has ended. That of a stream
   * also aborts when its right ends.
   */
  readonly signal: AbortSignal;
}

/** The action of the audit record. */
export interface RecordedAccess {
  readonly resource: string;
  readonly verb: string;
  readonly namespace: string;
  readonly name: string;
  /** Number of operations of the set. */
  readonly operations?: number;
}

/** The access rule of a custom method. */
export type MethodAccess =
  /** Requires a right in the request's namespace. */
  | {
      readonly type: 'policy';
      readonly resource: string;
      readonly verb: string;
      readonly scope: 'Namespaced' | 'Cluster';
    }
  /** Any caller with a valid token; the handler checks further. */
  | {
      readonly type: 'authenticated';
      /** True: the method changes nothing, and is recorded like other reads. */
      readonly reads?: boolean;
    }
  /** Requires a right that depends on the request; the handler restricts access by object. */
  | {
      readonly type: 'request';
      /** Undefined: the handler authorizes each part of the request. */
      required(request: JsonObject): Access | undefined;
      /**
       * Entries of the request for the audit record, with its outcome. A refused request has a bounded number,
       * regardless of its size. Must not throw.
       */
      recorded(request: JsonObject, code: StatusCode): readonly RecordedAccess[];
    }
  /** No token is needed. */
  | { readonly type: 'anonymous' };

/** A method outside of the CRUD pattern. Its answer is converted by its message. */
export interface CustomMethod {
  /** Service and name of the method, such as `LampService.Resize`. */
  readonly id: string;
  readonly access: MethodAccess;
  readonly handler:
    | {
        readonly type: 'unary';
        call(context: CallContext, request: JsonObject): Promise<JsonObject>;
      }
    | {
        readonly type: 'stream';
        call(context: CallContext, request: JsonObject): AsyncIterable<JsonObject>;
      }
    /** Served over gRPC only. */
    | {
        readonly type: 'bidi';
        /** The part of the first message that contains the request and its namespace. */
        opening(first: JsonObject): JsonObject;
        call(
          context: CallContext,
          request: JsonObject,
          further: AsyncIterable<JsonObject>,
        ): AsyncIterable<JsonObject>;
      };
}

/** The identity of calls to anonymous methods. */
export const anonymous: Identity = {
  subject: 'anonymous',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
  node: undefined,
};
