import {
  type ApiObject,
  type BackedUpObject,
  type Condition,
  defineKind,
  type ObjectStore,
} from 'kedge';
import { setCondition } from '../reasons/index.js';
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

/** The condition of a foreign object. */
export function foreignWords(clusterId: string): string {
  return `belongs to cluster ${clusterId}, and this store is a copy of that cluster: a copy calls no driver for objects of the original; delete it here (the original keeps it) and create a new one`;
}

/** The original of a copy. */
export interface CopiedCluster {
  readonly clusterId: string;
  /** Time of its backup. */
  readonly createdAt: string;
}

/**
 * The objects of a copy for one of the original. Volumes and snapshots come with a record that they are foreign, and
 * with a condition that shows it. The storage roots of nodes are left out: they are the original's.
 */
export function asCopy(
  { kind, object }: BackedUpObject,
  { clusterId, createdAt: copiedAt }: CopiedCluster,
): readonly BackedUpObject[] {
  switch (kind) {
    case volumes.kind:
    case snapshots.kind: {
      const { uid, resourceVersion, createdAt } = object.metadata;
      // Without the object's owners and finalizers: the record stays when the object goes.
      const metadata = { uid, resourceVersion, generation: 1, createdAt, updatedAt: createdAt };
      const record = { name: uid, kindName: kind, clusterId, metadata };
      return [
        { kind, object: shownAsForeign(object, clusterId, copiedAt) },
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

function shownAsForeign(
  object: ApiObject & { readonly conditions?: readonly Condition[] },
  clusterId: string,
  now: string,
): ApiObject & { readonly conditions: readonly Condition[] } {
  const message = `it ${foreignWords(clusterId)}`;
  const shown = { type: 'OfThisCluster', status: 'False', reason: 'Foreign', message } as const;
  return { ...object, conditions: setCondition(object.conditions, shown, now) };
}
