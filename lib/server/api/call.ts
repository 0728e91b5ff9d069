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
  /** The sign that the caller differs from the peer of the connection; undefined without one. */
  readonly indirection?: () => string | undefined;
  /** Aborts when the caller goes away, the deadline passes, or the server stops. */
  readonly signal: AbortSignal;
}

/** The action of the audit record. */
export interface RecordedAccess {
  readonly resource: string;
  readonly verb: string;
  readonly namespace: string;
  readonly name: string;
  /** Number of operations of the set that the operation belongs to. */
  readonly operations?: number;
}

/** The access rule of a custom method. */
export type MethodAccess =
  /** RBAC with the request's namespace. */
  | {
      readonly type: 'policy';
      readonly resource: string;
      readonly verb: string;
      readonly scope: 'Namespaced' | 'Cluster';
    }
  /** Anyone with a valid token; the handler checks further. */
  | {
      readonly type: 'authenticated';
      /** True: it changes nothing, and is recorded like other reads. */
      readonly reads?: boolean;
    }
  /** RBAC with what the request names; the handler narrows it to the objects that the caller may touch. */
  | {
      readonly type: 'request';
      /** Undefined: the handler judges each part of the request by itself. */
      demanded(request: JsonObject): Access | undefined;
      /**
       * Entries for what the request asked for, by how it ended. Of a refused request a bounded number,
       * however large it is. Must not throw.
       */
      recorded(request: JsonObject, code: StatusCode): readonly RecordedAccess[];
    }
  /** No token needed. */
  | { readonly type: 'anonymous' };

/** A method that does not follow the CRUD pattern. Its answer is shown through its message. */
export interface CustomMethod {
  /** `VolumeService.Resize` */
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
    /** Over gRPC only. */
    | {
        readonly type: 'bidi';
        /** The part of the first message with the request and its namespace. */
        opening(first: JsonObject): JsonObject;
        call(
          context: CallContext,
          request: JsonObject,
          further: AsyncIterable<JsonObject>,
        ): AsyncIterable<JsonObject>;
      };
}

/** The identity behind calls that need none. */
export const anonymous: Identity = {
  subject: 'anonymous',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
  node: undefined,
};
