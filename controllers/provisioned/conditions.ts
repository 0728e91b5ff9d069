import { type Condition, findCondition } from 'kedge';
import type { CallingProcess } from './calling-process.js';

/** Reason of a condition that names the awaited node. */
export const waitsReason = 'WaitsForNode';

/**
 * Type of a condition of an object that is being deleted. Its message names the awaited event. It is True once the node
 * that had the data reports the deletion, and then the controller removes the finalizer. Other reasons and messages of
 * the condition are for people: requests to a node are in other status fields, which only the controller writes.
 */
export const deletedCondition = 'Deleted';

/** Whether its node reported the deletion of the data. */
export function isDeletionDone(conditions: readonly Condition[] | undefined): boolean {
  return findCondition(conditions, deletedCondition)?.status === 'True';
}

/** The case of {@link CallingProcess} in which this process waits for one or several nodes. */
export type Waits = Extract<CallingProcess, { readonly type: 'waits' }>;

/**
 * Whether to write the reason of a wait over the condition `report`. The condition of a ready node is kept: overwriting
 * it would trigger the node after each failure.
 */
export function isNewWait(
  report: Condition | undefined,
  status: Condition['status'],
  { message, ready }: Pick<Waits, 'message' | 'ready'>,
): boolean {
  if (report?.status !== status) return true;
  return report.reason === waitsReason ? report.message !== message : !ready;
}
