import { type AnyKind, type Condition, findCondition, invalid } from 'kedge/objects';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { apiSchemas } from '@kedge/api/schemas';
import { didYouMean } from '../../near-miss.js';

/** The goal of a wait. */
export type Goal =
  | { readonly type: 'condition'; readonly condition: string; readonly status: string }
  | { readonly type: 'status'; readonly status: string }
  | { readonly type: 'delete' };

const conditionStatuses = ['True', 'False', 'Unknown'];

function refuse(description: string): Error {
  return invalid([{ field: '--for', description }]);
}

/** Reads `condition=TYPE[=STATUS]`, `status=STATUS` or `delete`. @throws StatusError InvalidArgument */
export function goalOf(text: string): Goal {
  const [what = '', first = '', second = 'True', ...rest] = text.split('=');
  if (text === 'delete') return { type: 'delete' };
  if (rest.length === 0 && first !== '') {
    if (what === 'condition') {
      const status = conditionStatuses.find((s) => s.toLowerCase() === second.toLowerCase());
      if (status) return { type: 'condition', condition: first, status };
      throw refuse(
        `${JSON.stringify(second)} must be one of ${conditionStatuses.join(', ')}${didYouMean(second, conditionStatuses)}`,
      );
    }
    if (what === 'status' && text.split('=').length === 2) return { type: 'status', status: first };
  }
  const meant = didYouMean(what, ['condition', 'status', 'delete']);
  throw refuse(
    `${JSON.stringify(text)} must be condition=TYPE, condition=TYPE=STATUS, status=STATUS or delete${meant}`,
  );
}

/**
 * Rejects a goal that no object of the kind reaches, because the wait would not end: a status that the kind never has,
 * or a status or a condition of a kind without them.
 * @throws StatusError InvalidArgument
 */
export function requireReachable(kind: AnyKind, goal: Goal): void {
  if (goal.type === 'delete') return;
  const { fields } = apiSchemas().message(`api.${kind.kind}`);
  const name = goal.type === 'condition' ? 'conditions' : 'status';
  const field = fields.find(({ jsonName }) => jsonName === name);
  if (!field) throw refuse(`${kind.plural} have no ${name}`);
  if (goal.type === 'condition') return;
  const known = (field.enum?.values ?? []).filter((v) => v.number !== 0).map((v) => v.name);
  if (known.length === 0 || known.includes(goal.status)) return;
  const meant = didYouMean(goal.status, known) || `; use one of ${known.join(', ')}`;
  throw refuse(`${kind.plural} never have the status ${JSON.stringify(goal.status)}${meant}`);
}

/** Whether a status or condition is of an earlier generation of the object, and therefore does not count. */
function isStale(object: JsonObject, observed: unknown): boolean {
  const { generation } = isJsonObject(object.metadata) ? object.metadata : {};
  return Number(observed ?? 0) > 0 && Number(observed) < Number(generation ?? 0);
}

function conditionsOf(object: JsonObject): readonly Condition[] {
  return (Array.isArray(object.conditions) ? object.conditions : []) as readonly Condition[];
}

/** Whether an existing object has reached the goal. */
export function reached(goal: Goal, object: JsonObject): boolean {
  if (goal.type === 'delete') return false;
  if (goal.type === 'status')
    return object.status === goal.status && !isStale(object, object.observedGeneration);
  const condition = findCondition(conditionsOf(object), goal.condition);
  return condition?.status === goal.status && !isStale(object, condition.observedGeneration);
}

/** The goal as text that follows the name of an object. */
export function goalText(goal: Goal): string {
  if (goal.type === 'delete') return 'is deleted';
  if (goal.type === 'status') return `is ${goal.status}`;
  return `has condition ${goal.condition}=${goal.status}`;
}

/** The state of an object that has not reached the goal, as text that follows its name. */
export function presentState(goal: Goal, object: JsonObject): string {
  const conditions = conditionsOf(object);
  const status = textOf(object, 'status');
  if (goal.type === 'condition') {
    const condition = findCondition(conditions, goal.condition);
    if (!condition) {
      const known = conditions.map(({ type }) => type);
      const has = known.length === 0 ? 'it has no conditions yet' : `it has ${known.join(', ')}`;
      return `has no condition ${goal.condition} (${has})${didYouMean(goal.condition, known)}`;
    }
    const stale = isStale(object, condition.observedGeneration)
      ? ' (from before its last change)'
      : '';
    return `${condition.type} is ${condition.status}${stale}: ${condition.reason} ${condition.message}`.trimEnd();
  }
  const wrong = conditions.find((condition) => condition.status === 'False');
  const why = wrong ? `: ${wrong.type} is False, ${wrong.message || wrong.reason}` : '';
  if (goal.type === 'delete') return `still exists, ${status || 'without a status'}${why}`;
  const stale = isStale(object, object.observedGeneration) ? ' (from before its last change)' : '';
  return `is ${status || 'without a status'}${stale}${why}`;
}
