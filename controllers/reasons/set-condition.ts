import { type Condition, setCondition as setAnyCondition } from 'kedge/objects';
import type { Reason } from './table.js';

/** A condition with a reason of {@link reasonTable}. */
export type NewCondition = Omit<Condition, 'lastTransitionAt' | 'reason'> & {
  readonly reason: Reason;
};

/**
 * `setCondition` of the library for conditions with a reason of {@link reasonTable}: the compiler refuses another one.
 */
export const setCondition: (
  conditions: readonly Condition[] | undefined,
  next: NewCondition,
  now: string,
) => readonly Condition[] = setAnyCondition;
