import type { ApiObject, BackedUpObject, Condition } from 'kedge';
import { foreignRecords, foreignWords } from '../provisioned/foreign-record.js';
import { setCondition } from '../reasons/index.js';
import { snapshots } from '../snapshot/kind.js';
import { storageRootRecords } from '../storage-root/record.js';
import { volumes } from '../volume/kind.js';

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
