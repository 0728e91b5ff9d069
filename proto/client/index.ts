/**
 * A typed client for kedged, over gRPC: every method by name, objects of every kind with paged
 * iteration, watches that resume, waiting for a condition, and retries where they are safe.
 *
 * ```ts
 * using client = kedgeClient({ server: '127.0.0.1:7863', token });
 * const volume = await client.volumes.waitFor(
 *   { namespace: 'default', name: 'data' },
 *   (v) => v?.status === 'Available',
 *   { timeoutMs: 60_000 },
 * );
 * await client.methods.volume.resize({ namespace: 'default', name: 'data', size: '20Gi' });
 * ```
 */
import { ApiClient, type ApiClientOptions } from 'kedge/client';
import { typedResources, type TypedResources } from './resources.js';
import { apiSchemas } from './schemas.js';
import { typedServices, type TypedServices } from './typed-methods.js';

export type { Stored, TypedResources } from './resources.js';
export type { Request, TypedMethod, TypedServices } from './typed-methods.js';
export { apiSchemas } from './schemas.js';

/** The server and the credentials of a client. */
export type KedgeClientOptions = Omit<ApiClientOptions, 'schemas' | 'packageName'>;

interface KedgeClientParts extends TypedResources {
  /** Calls methods by name with JSON, also those with a stream of requests. */
  readonly api: ApiClient;
  /** The methods of every service, typed, except those with a stream of requests: call these with `api.duplex`. */
  readonly methods: TypedServices;
  close(): void;
  [Symbol.dispose](): void;
}

/** A typed client. Create it with {@link kedgeClient}. */
export type KedgeClient = KedgeClientParts;

/** Creates a client. Nothing is sent before the first call. */
export function kedgeClient(options: KedgeClientOptions): KedgeClient {
  const api = new ApiClient({ ...options, schemas: apiSchemas(), packageName: 'api' });
  return {
    ...typedResources(api),
    api,
    methods: typedServices(api),
    close: () => api.close(),
    [Symbol.dispose]: () => api.close(),
  };
}
