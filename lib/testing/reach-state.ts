import {
  type ApiObject,
  fieldsOf,
  type Kind,
  type ObjectKey,
  type StateMachine,
  type StatusUpdate,
} from '../object/index.js';
import type { ObjectStore } from '../store/index.js';

/**
 * Returns the states of the shortest path of transitions between two states, without the first state.
 * @throws TypeError if there is no path
 */
function pathTo({ transitions }: StateMachine, from: string, to: string): readonly string[] {
  const paths: (readonly string[])[] = [[from]];
  const seen = new Set([from]);
  for (const path of paths) {
    const [at = from] = path.slice(-1);
    if (at === to) return path.slice(1);
    for (const next of transitions[at] ?? []) {
      if (!seen.has(next)) paths.push([...path, next]);
      seen.add(next);
    }
  }
  throw new TypeError(`no transitions lead from ${from} to ${to}`);
}

/**
 * Moves an object into a state by valid transitions of its kind, in one transaction: watches receive only the last
 * state. For tests that start from an intermediate state.
 * @param status further status fields
 * @throws TypeError if no transitions lead there, the kind has no states, or the object does not exist
 */
export async function reachState<T extends ApiObject, S extends string>(
  store: ObjectStore,
  kind: Kind<T, S>,
  key: ObjectKey,
  state: string,
  status?: StatusUpdate<T, S>,
): Promise<void> {
  const { states } = kind;
  if (!states) throw new TypeError(`${kind.kind} has no states`);
  const current = await store.get(kind, key);
  if (!current) throw new TypeError(`${kind.kind} ${key.name} does not exist`);
  const { field, initial } = states;
  const stored = fieldsOf(current)[field];
  const from = typeof stored === 'string' ? stored : initial;
  const { uid } = current.metadata;
  const steps = pathTo(states, from, state).map((next) => ({ [field]: next }));
  await store.transact(
    [...steps, ...(status ? [status] : [])].map((change) => ({
      op: 'updateStatus' as const,
      kind,
      key,
      status: change as StatusUpdate<T, S>,
      precondition: { uid },
    })),
  );
}
