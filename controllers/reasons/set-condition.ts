import { type Condition, setCondition as setAnyCondition } from 'kedge/objects';
import type { Reason } from './table.js';

/** A condition with a reason that has a remedy. */
export type NewCondition = Omit<Condition, 'lastTransitionAt' | 'reason'> & {
  readonly reason: Reason;
};

/** Like `setCondition` of the library, limited to the reasons of {@link reasonTable}. */
export const setCondition: (
  conditions: readonly Condition[] | undefined,
  next: NewCondition,
  now: string,
) => readonly Condition[] = setAnyCondition;
