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

/** Records that a volume or snapshot existed before the store was copied: its data belongs to the original cluster. */
export interface ForeignRecord extends ApiObject {
  /** Kind of the object; its uid is the record's name. */
  readonly kindName: string;
  /** The cluster that the store was copied from. */
  readonly clusterId: string;
}

/** The kind of these records. They are included in backups and hidden from the API. */
export const foreignRecords = defineKind<ForeignRecord>({
  kind: 'ForeignRecord',
  plural: 'foreignrecords',
  scope: 'Cluster',
  statusFields: [],
});

/** The record of a volume or snapshot; undefined for an object that this cluster created. */
export async function foreignRecordOf(
  store: ObjectStore,
  uid: string,
): Promise<ForeignRecord | undefined> {
  return store.get(foreignRecords, { name: uid });
}

/** The message of a foreign object's condition. */
export function foreignWords(clusterId: string): string {
  return `belongs to cluster ${clusterId}, and this store is a copy of that cluster: a copy calls no driver for objects of the original; delete the object here (the original cluster keeps the data) and create a new one`;
}

/** The original of a copy. */
export interface CopiedCluster {
  readonly clusterId: string;
  /** Time of its backup. */
  readonly createdAt: string;
}

/**
 * Converts an object of the original for its copy. Each volume and snapshot gets a record that it is foreign, and a
 * condition that reports it. Storage roots of nodes are omitted: they belong to the original.
 */
export function asCopy(
  { kind, object }: BackedUpObject,
  { clusterId, createdAt: copiedAt }: CopiedCluster,
): readonly BackedUpObject[] {
  switch (kind) {
    case volumes.kind:
    case snapshots.kind: {
      const { uid, resourceVersion, createdAt } = object.metadata;
      // Without owners and finalizers: the record outlives the object.
      const metadata = { uid, resourceVersion, generation: 1, createdAt, updatedAt: createdAt };
      const record = { name: uid, kindName: kind, clusterId, metadata };
      return [
        { kind, object: shownAsForeign(object, clusterId, copiedAt) },
        { kind: foreignRecords.kind, object: record },
      ];
    }
    // The previous cases write a new record with the original's cluster.
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
