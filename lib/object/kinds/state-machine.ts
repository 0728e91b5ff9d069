/** The moves a status field may make, as data; see {@link stateMachine}. */
export interface StateMachine {
  readonly field: string;
  readonly initial: string;
  readonly transitions: Readonly<Record<string, readonly string[]>>;
  /** States in which an object may be removed; absent: all of them. */
  readonly removable?: readonly string[];
}

/** What else is said of states. */
export interface StateMachineOptions<S extends string> {
  /**
   * States in which an object may be removed: in every other, the deletion of an object without finalizers
   * and taking off the last finalizer of one that is being deleted are refused. Default: all of them.
   */
  readonly removable?: readonly S[];
}

/** What every one of the states `From` may move to: of several, only what all of them may. */
type Target<M extends Readonly<Record<string, readonly string[]>>, From extends keyof M> = (
  From extends unknown
    ? (to: M[From][number]) => void
    : never
) extends (to: infer To) => void
  ? To
  : never;

/** A {@link StateMachine} whose moves the compiler knows. */
export interface TypedStateMachine<
  F extends string,
  M extends Readonly<Record<string, readonly string[]>>,
> extends StateMachine {
  readonly field: F;
  readonly transitions: M;
  /**
   * The status field after a move. A move that is not in the table does not compile; from a state
   * that may be one of several, only what all of them allow does.
   */
  move<const From extends keyof M & string, const To extends Target<M, From> & string>(
    from: From,
    to: To,
  ): { readonly [field in F]: To };
}

/**
 * Declares the states of a field and their moves. Given to a kind as `states`, the store refuses
 * every other move at commit; staying is always allowed, and a new object begins in `initial`.
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
