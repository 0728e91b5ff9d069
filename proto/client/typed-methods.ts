import { messageOf, StatusError } from 'kedge/objects';
import type { ApiClient, CallOptions } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { serviceDefinitions } from '../gen/services.js';

/** A request: all fields are optional, and enum values are their names. */
export type Request<T> = T extends readonly (infer Item)[]
  ? readonly Request<Item>[]
  : T extends Buffer | Uint8Array
    ? string
    : T extends object
      ? { readonly [K in keyof T]?: Request<T[K]> }
      : T;

interface Codec<Q, A> {
  readonly path: string;
  readonly requestSerialize: (value: Q) => Buffer;
  readonly responseDeserialize: (value: Buffer) => A;
}

/** One method as a function of its request; `never` for a method with a stream of requests: use ApiClient.duplex. */
export type TypedMethod<D> = D extends { readonly requestStream: true }
  ? never
  : D extends Codec<infer Q, infer A> & { readonly responseStream: true }
    ? (request: Request<Q>, signal: AbortSignal) => AsyncIterable<A>
    : D extends Codec<infer Q, infer A>
      ? (request: Request<Q>, options?: CallOptions) => Promise<A>
      : never;

type Definitions = typeof serviceDefinitions;

/** The methods of every service, except those with a stream of requests. */
export type TypedServices = {
  readonly [S in keyof Definitions]: {
    readonly [M in keyof Definitions[S]]: TypedMethod<Definitions[S][M]>;
  };
};

interface AnyDefinition extends Codec<never, unknown> {
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

/** The error for an answer that the generated codec can't read, such as one with an enum value of a later release. */
function unreadable(id: string, error: unknown): StatusError {
  return new StatusError({
    code: 'Internal',
    reason: 'UnreadableAnswer',
    message: `the answer of ${id} can't be read: ${messageOf(error)}; use @kedge/api of the release of the server, or ApiClient.call, which returns unknown values of enums as numbers`,
    cause: error,
  });
}

function typedMethod(api: ApiClient, definition: AnyDefinition): unknown {
  const id = definition.path
    .slice(1)
    .replace(/^\w+\./, '')
    .replace('/', '.');
  const decode = (bytes: Buffer): unknown => {
    try {
      return definition.responseDeserialize(bytes);
    } catch (error) {
      throw unreadable(id, error);
    }
  };
  if (definition.responseStream)
    return async function* (request: JsonObject, signal: AbortSignal): AsyncIterable<unknown> {
      for await (const bytes of api.streamBytes(id, request, signal)) yield decode(bytes);
    };
  return async (request: JsonObject, options?: CallOptions) =>
    decode(await api.callBytes(id, request, options));
}

/** Returns the methods of all services over a client. */
export function typedServices(api: ApiClient): TypedServices {
  const services = Object.entries(serviceDefinitions).map(([service, methods]) => {
    const all = Object.entries(methods) as readonly (readonly [string, AnyDefinition])[];
    const typed = all
      .filter(([, definition]) => !definition.requestStream)
      .map(([name, definition]) => [name, typedMethod(api, definition)] as const);
    return [service, Object.fromEntries(typed)] as const;
  });
  return Object.fromEntries(services) as TypedServices;
}
