/** The allowed transitions of a status field, as data; see {@link stateMachine}. */
export interface StateMachine {
  readonly field: string;
  readonly initial: string;
  readonly transitions: Readonly<Record<string, readonly string[]>>;
  /** States in which an object may be removed; absent: all of them. */
  readonly removable?: readonly string[];
}

/** Options of a state machine. */
export interface StateMachineOptions<S extends string> {
  /**
   * States in which an object may be removed. In other states the store refuses to delete an object without
   * finalizers and to remove the last finalizer of an object that is being deleted. Default: all states.
   */
  readonly removable?: readonly S[];
}

/** The states that are reachable from every state of `From`. */
type Target<M extends Readonly<Record<string, readonly string[]>>, From extends keyof M> = (
  From extends unknown
    ? (to: M[From][number]) => void
    : never
) extends (to: infer To) => void
  ? To
  : never;

/** A {@link StateMachine} whose transitions are known to the compiler. */
export interface TypedStateMachine<
  F extends string,
  M extends Readonly<Record<string, readonly string[]>>,
> extends StateMachine {
  readonly field: F;
  readonly transitions: M;
  /**
   * The status field after a transition. A transition that is not in the table does not compile; from a union of
   * states only common transitions compile.
   */
  move<const From extends keyof M & string, const To extends Target<M, From> & string>(
    from: From,
    to: To,
  ): { readonly [field in F]: To };
}

/**
 * Declares the states of a field and their transitions. For a kind with these `states`, the commit refuses every
 * other transition. Staying in a state is always allowed, and a new object starts in `initial`.
 *
 * @example
 * const phases = stateMachine('phase', 'Off', { Off: ['Warming'], Warming: ['On', 'Off'], On: ['Off'] });
 * txn.updateStatus(lamps, key, phases.move('Off', 'Warming'));
 * txn.updateStatus(lamps, key, phases.move('Off', 'On')); // does not compile
 */
export function stateMachine<
  const F extends string,
  const M extends Readonly<Record<string, readonly (keyof M & string)[]>>,
>(
  field: F,
  initial: keyof M & string,
  transitions: M,
  { removable }: StateMachineOptions<keyof M & string> = {},
): TypedStateMachine<F, M> {
  return Object.freeze({
    field,
    initial,
    transitions,
    ...(removable ? { removable } : {}),
    move: (_from: string, to: string) => ({ [field]: to }),
  }) as TypedStateMachine<F, M>;
}
