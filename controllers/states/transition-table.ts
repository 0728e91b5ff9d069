import { stateMachine, type TypedStateMachine } from 'kedge/objects';

/** No object: before its creation, and after its removal. */
type None = 'None';

/** One row of a table of transitions. */
export interface TransitionRow {
  /** Number of the row in the operators' guide; several rows may share one. */
  readonly id: string;
  readonly from: string;
  readonly event: string;
  readonly to: string;
  /** The effect. */
  readonly then: string;
}

/** A row of a table, on one line. */
export function row<
  const Id extends string,
  const From extends string,
  const Event extends string,
  const To extends string,
>(
  id: Id,
  from: From,
  event: Event,
  to: To,
  then: string,
): {
  readonly id: Id;
  readonly from: From;
  readonly event: Event;
  readonly to: To;
  readonly then: string;
} {
  return { id, from, event, to, then };
}

/** Phases of a table. */
export type PhaseOf<R extends TransitionRow> = Exclude<R['from'] | R['to'], None>;

/** Rows that lead from a phase into a phase. */
type Move<R extends TransitionRow> = Exclude<R, { readonly to: None } | { readonly from: None }>;

/** Events of a phase; for a union of phases, their common events. */
export type EventFrom<R extends TransitionRow, From extends string> = (
  From extends unknown
    ? (event: Extract<Move<R>, { readonly from: From }>['event']) => void
    : never
) extends (event: infer E) => void
  ? E
  : never;

/** The phase after an event. */
export type PhaseAfter<R extends TransitionRow, From extends string, E> = Extract<
  Move<R>,
  { readonly from: From; readonly event: E }
>['to'];

declare const reached: unique symbol;

/** A phase that a table returned. A string literal does not have this type. */
export type Reached<P extends string> = P & { readonly [reached]: true };

/** A table of transitions for the store and the controllers. */
export interface TransitionTable<R extends TransitionRow> {
  /** The states of the kind. The store rejects other transitions, and a removal in a phase without a row to None. */
  readonly states: TypedStateMachine<'status', Readonly<Record<PhaseOf<R>, readonly PhaseOf<R>[]>>>;
  /** The phase after an event. An unknown event of the phase does not compile. */
  readonly next: <const From extends PhaseOf<R>, const E extends EventFrom<R, From> & string>(
    from: From,
    event: E,
  ) => Reached<PhaseAfter<R, From, E>>;
}

/** Builds the table of the field `status`. Its first row must be the creation. */
export function transitionTable<const R extends TransitionRow>(
  rows: readonly R[],
): TransitionTable<R> {
  const none = 'None';
  const phases = [...new Set(rows.flatMap(({ from, to }) => [from, to]))].filter((p) => p !== none);
  const targets = (phase: string): readonly string[] => {
    const all = rows.filter(({ from }) => from === phase).map(({ to }) => to);
    return [...new Set(all)].filter((to) => to !== none && to !== phase);
  };
  const moves = Object.fromEntries(phases.map((phase) => [phase, targets(phase)]));
  const initial = rows.find(({ from }) => from === none)?.to ?? none;
  const removable = rows.filter(({ to }) => to === none).map(({ from }) => from);
  const next = (from: string, event: string): string => {
    const found = rows.find((row) => row.from === from && row.event === event);
    if (!found || found.to === none)
      throw new TypeError(`phase ${from} has no transition for event ${event}`);
    return found.to;
  };
  const states = stateMachine('status', initial, moves, { removable: [...new Set(removable)] });
  return { states, next } as unknown as TransitionTable<R>;
}
