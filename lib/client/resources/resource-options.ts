import type { JsonObject } from '../../rpc/index.js';

/** The RPC calls that a resource client uses. */
export interface Caller {
  call(
    id: string,
    request: JsonObject,
    options?: { readonly onLostAnswer?: () => void },
  ): Promise<JsonObject>;
  stream(id: string, request: JsonObject, signal: AbortSignal): AsyncIterable<JsonObject>;
}

/** Defaults of a resource client. */
export interface ResourceOptions {
  /** Objects per page when everything is listed; default 500. */
  readonly pageSize: number;
}

/** The objects of a list or watch. */
export interface ResourceSelection {
  /** Only objects of this namespace; absent: of all namespaces. */
  readonly namespace?: string;
  /** Requirements on labels, in Kubernetes' text form: `tier=web,env!=test`. */
  readonly labelSelector?: string;
  /** Requirements on dotted paths: `status=Bound`. */
  readonly fieldSelector?: string;
}
