import type { ApiObject, Condition, Event } from 'kedge';

/** Status fields with the state of an object; kinds have some of these. */
export interface Observed extends ApiObject {
  readonly status?: string;
  readonly reason?: string;
  readonly failureMessage?: string;
  readonly conditions?: readonly Condition[];
}

/** An event before it is stored. */
export interface Transition {
  readonly type: Event['type'];
  readonly reason: string;
  readonly message: string;
}

function byType(conditions: readonly Condition[] | undefined): ReadonlyMap<string, Condition> {
  return new Map((conditions ?? []).map((condition) => [condition.type, condition]));
}

/** Whether a condition changed. Messages may contain counters, so a different message alone is not a transition. */
function differs(before: Condition | undefined, after: Condition): boolean {
  return before?.status !== after.status || before.reason !== after.reason;
}

/**
 * The events of a transition: none, at most one per changed condition, or one for another status or failureMessage if
 * no condition changed. Pure.
 * @param troubled phases that are warnings
 */
export function transitionsOf(
  before: Observed | undefined,
  after: Observed,
  troubled: readonly string[],
): readonly Transition[] {
  const { status = '', failureMessage = '' } = after;
  const failedAnew = failureMessage !== '' && failureMessage !== before?.failureMessage;
  const type = troubled.includes(status) || failedAnew ? 'Warning' : 'Normal';
  const earlier = byType(before?.conditions);
  const changed = [...byType(after.conditions).values()].filter((condition) =>
    differs(earlier.get(condition.type), condition),
  );
  const found: Transition[] = [];
  for (const { reason, message } of changed) {
    const text = message || status;
    // Several conditions often have the same message: report it once.
    if (!found.some((t) => t.reason === reason && t.message === text))
      found.push({ type, reason, message: text });
  }
  // The initial state of a new object is not a transition.
  const moved = before !== undefined && status !== '' && status !== before.status;
  if (found.length === 0 && (moved || failedAnew)) {
    const reason = after.reason || status || 'Failed';
    const from = before?.status ? ` (was ${before.status})` : '';
    found.push({ type, reason, message: failureMessage || `${status}${from}` });
  }
  return found;
}
