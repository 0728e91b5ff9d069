import { failedPrecondition, type StatusError } from '../../base/index.js';
import { keyString } from '../../object/index.js';
import type { ObjectOperation } from '../contract/operations.js';
import { resourceOf, keyOfOperation } from './operation-key.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Checks that the kind's states allow the transition from `before` to `after`.
 * @param before undefined for a creation; an object from before its kind had states is in the initial one
 * @throws StatusError FailedPrecondition (IllegalTransition)
 */
export function requireAllowedTransition(
  operation: ObjectOperation,
  before: Fields | undefined,
  after: Fields,
): void {
  const { states } = operation.kind;
  if (!states) return;
  const { field, initial, transitions } = states;
  const stored = before?.[field] as string | undefined;
  const to = after[field] as string | undefined;
  if (stored === to) return;
  const from = before && (stored ?? initial);
  const allowed = from === undefined ? [initial] : (transitions[from] ?? []);
  if (to !== undefined && (from === to || allowed.includes(to))) return;
  const shown = JSON.stringify(to) ?? 'nothing';
  const ways = allowed.length === 0 ? 'none' : allowed.join(', ');
  throw illegal(
    operation,
    `has an invalid transition of ${field} from ${from ?? 'its creation'} to ${shown}; allowed: ${ways}`,
  );
}

/**
 * Checks that an object may be removed in its last state.
 * @throws StatusError FailedPrecondition (IllegalTransition)
 */
export function requireRemovable(operation: ObjectOperation, last: Fields): void {
  const { states } = operation.kind;
  if (!states?.removable) return;
  const { field, initial, removable } = states;
  const state = (last[field] as string | undefined) ?? initial;
  if (removable.includes(state)) return;
  throw illegal(
    operation,
    `can't be removed while its ${field} is ${state}; it can be removed only in ${removable.join(', ')}`,
  );
}

function illegal(operation: ObjectOperation, problem: string): StatusError {
  const { kind } = operation;
  const key = keyOfOperation(operation);
  return failedPrecondition(
    'IllegalTransition',
    `${kind.kind} "${keyString(key)}" ${problem}`,
    resourceOf(kind, key),
  );
}
