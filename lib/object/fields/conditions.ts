/** The status of a condition. */
export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** One observed aspect of an object. A list of conditions has one entry per `type` (Kubernetes API conventions). */
export interface Condition {
  /** A PascalCase adjective or past participle, such as `Ready`. */
  readonly type: string;
  readonly status: ConditionStatus;
  /** A CamelCase constant that programs may branch on. */
  readonly reason: string;
  /** A message for people. */
  readonly message: string;
  /** The generation of the object that was observed. */
  readonly observedGeneration?: number;
  /** Time of the last change of `status`, RFC 3339. */
  readonly lastTransitionAt: string;
}

/**
 * Returns `conditions` with one entry set. `lastTransitionAt` changes only when the status changes. If the entry is
 * already equal, the same list is returned, so that writing it is a no-op.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  next: Omit<Condition, 'lastTransitionAt'>,
  now: string,
): readonly Condition[] {
  const list = conditions ?? [];
  const at = list.findIndex((c) => c.type === next.type);
  const before = list[at];
  if (before === undefined) return [...list, { ...next, lastTransitionAt: now }];
  const same =
    before.status === next.status &&
    before.reason === next.reason &&
    before.message === next.message &&
    before.observedGeneration === next.observedGeneration;
  if (same) return list;
  const lastTransitionAt = before.status === next.status ? before.lastTransitionAt : now;
  return list.map((c, i) => (i === at ? { ...next, lastTransitionAt } : c));
}

/** The condition of that type, if set. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((c) => c.type === type);
}
