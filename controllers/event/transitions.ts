import type { ApiObject, Condition, Event } from 'kedge';

/** What an object tells of its state; kinds have some of these. */
export interface Observed extends ApiObject {
  readonly status?: string;
  readonly reason?: string;
  readonly failureMessage?: string;
  readonly conditions?: readonly Condition[];
}

/** An event in the making. */
export interface Transition {
  readonly type: Event['type'];
  readonly reason: string;
  readonly message: string;
}

function told(conditions: readonly Condition[] | undefined): ReadonlyMap<string, Condition> {
  return new Map((conditions ?? []).map((condition) => [condition.type, condition]));
}

/** Messages of conditions may hold counters that change all the time: those are no transitions. */
function differs(before: Condition | undefined, after: Condition): boolean {
  return before?.status !== after.status || before.reason !== after.reason;
}

/**
 * What people want to be told when an object went from one state to the next: nothing, or one event
 * for each condition that changed, or for the status where no condition explains it. Pure.
 * @param troubled phases in which it is a warning
 */
export function transitionsOf(
  before: Observed | undefined,
  after: Observed,
  troubled: readonly string[],
): readonly Transition[] {
  const { status = '', failureMessage = '' } = after;
  const failedAnew = failureMessage !== '' && failureMessage !== before?.failureMessage;
  const type = troubled.includes(status) || failedAnew ? 'Warning' : 'Normal';
  const earlier = told(before?.conditions);
  const changed = [...told(after.conditions).values()].filter((condition) =>
    differs(earlier.get(condition.type), condition),
  );
  const found: Transition[] = [];
  for (const { reason, message } of changed) {
    const text = message || status;
    // Several conditions often say the same: once is enough.
    if (!found.some((t) => t.reason === reason && t.message === text))
      found.push({ type, reason, message: text });
  }
  // A new object begins in its first state: that is no news.
  const moved = before !== undefined && status !== '' && status !== before.status;
  if (found.length === 0 && (moved || failedAnew)) {
    const reason = after.reason || status || 'Failed';
    const from = before?.status ? ` (was ${before.status})` : '';
    found.push({ type, reason, message: failureMessage || `${status}${from}` });
  }
  return found;
}
