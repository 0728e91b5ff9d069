import { type AnyKind, type ObjectStore, parseKey } from 'kedge';
import type { CredentialsByDriver } from '@kedge/driver-sdk/parameters';
import { instances } from '../instance/kind.js';
import { namespaces } from '../namespace/kind.js';
import { nodes } from '../node/kind.js';
import { services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import type { Readable, Reader } from './gather.js';

const kinds = {
  Service: services,
  Instance: instances,
  Volume: volumes,
  Snapshot: snapshots,
  StorageClass: storageClasses,
  Node: nodes,
  Namespace: namespaces,
} as const satisfies Readonly<Record<keyof Readable, unknown>> as unknown as Readonly<
  Record<keyof Readable, AnyKind>
>;

/** Reads objects from the store, for the methods that describe objects. */
export function storeReader(store: ObjectStore, credentials: CredentialsByDriver): Reader {
  return {
    credentials,
    get: async <K extends keyof Readable>(kind: K, key: string) => {
      const found: unknown = await store.get(kinds[kind], parseKey(key));
      return (found as Readable[K] | undefined) ?? 'NotFound';
    },
    list: async <K extends keyof Readable>(kind: K, namespace: string) => {
      const all = namespace === '-' || kinds[kind].scope === 'Cluster';
      const { items } = await store.list(kinds[kind], all ? {} : { namespace });
      return items as readonly unknown[] as readonly Readable[K][];
    },
  };
}
