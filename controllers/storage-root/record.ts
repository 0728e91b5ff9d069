import { createHash } from 'node:crypto';
import { type ApiObject, defineKind, type ObjectStore } from 'kedge';

/** Records that a node created or adopted a storage root: from then on its absence is an error. */
export interface StorageRootRecord extends ApiObject {
  readonly node: string;
  readonly path: string;
}

/** The kind of these records. They are included in backups and hidden from the API. */
export const storageRootRecords = defineKind<StorageRootRecord>({
  kind: 'StorageRootRecord',
  plural: 'storagerootrecords',
  scope: 'Cluster',
  statusFields: [],
});

/** The name of a root's record. */
function recordName(node: string, path: string): string {
  return createHash('sha256').update(`${node}\0${path}`).digest('hex').slice(0, 32);
}

/** Whether the node had a root at `path`. */
export async function isRecorded(store: ObjectStore, node: string, path: string): Promise<boolean> {
  return (await store.get(storageRootRecords, { name: recordName(node, path) })) !== undefined;
}

/** Records that a node has the root at `path`. Idempotent. */
export async function recordRoot(store: ObjectStore, node: string, path: string): Promise<void> {
  if (await isRecorded(store, node, path)) return;
  await store.create(storageRootRecords, { name: recordName(node, path), node, path });
}
