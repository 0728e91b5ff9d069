import { type ApiObject, type BackedUpObject, defineKind, type ObjectStore } from 'kedge';
import { snapshots } from '../snapshot/kind.js';
import { volumes } from '../volume/kind.js';
import { storageRootRecords } from '../storage-root/record.js';

/** Records that a volume or snapshot was already in the store when the store was copied: its data is the original's. */
export interface ForeignRecord extends ApiObject {
  /** Kind of the object; its uid is the record's name. */
  readonly kindName: string;
  /** The cluster that the store was copied from. */
  readonly clusterId: string;
}

/** Kept in the store, and so in backups; no API shows it. */
export const foreignRecords = defineKind<ForeignRecord>({
  kind: 'ForeignRecord',
  plural: 'foreignrecords',
  scope: 'Cluster',
  statusFields: [],
});

/** The record about a volume or snapshot; undefined for one that this cluster made. */
export async function foreignRecordOf(
  store: ObjectStore,
  uid: string,
): Promise<ForeignRecord | undefined> {
  return store.get(foreignRecords, { name: uid });
}

/**
 * The objects of a copy for one of the original: volumes and snapshots come with a record that they are
 * foreign, and which storage roots nodes had is forgotten: those are the original's.
 */
export function asCopy(
  { kind, object }: BackedUpObject,
  clusterId: string,
): readonly BackedUpObject[] {
  switch (kind) {
    case volumes.kind:
    case snapshots.kind: {
      const { uid, resourceVersion, createdAt } = object.metadata;
      // Without the object's owners and finalizers: the record stays when the object goes.
      const metadata = { uid, resourceVersion, generation: 1, createdAt, updatedAt: createdAt };
      const record = { name: uid, kindName: kind, clusterId, metadata };
      return [
        { kind, object },
        { kind: foreignRecords.kind, object: record },
      ];
    }
    // Made again, with the original's cluster, by what stands above.
    case foreignRecords.kind:
    case storageRootRecords.kind:
      return [];
    default:
      return [{ kind, object }];
  }
}
