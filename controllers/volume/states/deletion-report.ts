import { type Condition, findCondition } from 'kedge';

/** Reason of a condition that says which node is waited for. */
export const waitsReason = 'WaitsForNode';

/**
 * Condition of a volume or snapshot whose data a node is asked to delete: False until the node says that it
 * is gone. Then its controller takes the finalizer away.
 */
export const deletedCondition = 'Deleted';

/** Whether the node that has the data is asked to delete it. */
export function isDeletionAsked(conditions: readonly Condition[] | undefined): boolean {
  return findCondition(conditions, deletedCondition)?.status === 'False';
}

/** Whether the node that had the data says that it is gone. */
export function isDeletionDone(conditions: readonly Condition[] | undefined): boolean {
  return findCondition(conditions, deletedCondition)?.status === 'True';
}
