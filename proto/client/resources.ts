import { type ApiObject, defineKind } from 'kedge/objects';
import type { ApiClient, ResourceClient } from 'kedge/client';
import { kindList, type KindMessages } from '../gen/kind-list.js';

/** A generated message as an object of the library, which always has metadata. */
export type Stored<T> = Omit<T, 'metadata'> & Pick<ApiObject, 'metadata'>;

/** A client for the objects of every kind. */
export type TypedResources = {
  readonly [K in keyof KindMessages]: ResourceClient<Stored<KindMessages[K]>>;
};

/** Returns the clients for the objects of all kinds over a client. */
export function typedResources(api: ApiClient): TypedResources {
  const entries = Object.entries(kindList).map(([plural, { kind, scope }]) => [
    plural,
    api.resource(defineKind<ApiObject>({ kind, plural, scope, statusFields: [] })),
  ]);
  return Object.fromEntries(entries) as TypedResources;
}
