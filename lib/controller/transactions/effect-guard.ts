import { StatusError } from '../../base/index.js';
import { type ApiObject, keyString } from '../../object/index.js';
import type { ObjectStore, Operation } from '../../store/index.js';
import {
  type EffectObject,
  effectObject,
  type EffectRecord,
  isUnfinished,
  readRecord,
  recordCheck,
  recordWrite,
} from '../effects/effect-records.js';
import { effectsIn } from '../effects/effect-shape.js';
import type { Gathered } from './transaction.js';

/** The changes of a transaction to the effects of one object. */
interface Touched {
  readonly object: EffectObject;
  /** Effects that the transaction forgets. */
  readonly names: Set<string>;
  /** Set if the transaction removes finalizers. */
  finalizers?: { readonly removed: readonly string[]; readonly goes: boolean };
}

/** Outcomes that a run received. */
interface Given {
  readonly object: EffectObject;
  readonly names: ReadonlySet<string>;
}

/**
 * Returns the operations for effects that a transaction commits: they remove received outcomes, and the record of an
 * object that this commit deletes. A finalizer can't be removed while an effect is pending. The commit checks all of
 * this again.
 * @throws StatusError FailedPrecondition (EffectPending)
 */
export async function effectOperations(
  store: ObjectStore,
  gathered: Gathered,
  given: readonly Given[],
): Promise<readonly Operation[]> {
  const touched = await touchedBy(gathered, given);
  const operations: Operation[] = [];
  for (const one of touched) {
    const record = await readRecord(store, one.object.uid);
    if (one.finalizers) requireFinished(one, record);
    const operation = operationOn(one, record);
    if (operation) operations.push(operation);
  }
  return operations;
}

async function touchedBy(gathered: Gathered, given: readonly Given[]): Promise<readonly Touched[]> {
  const touched = new Map<string, Touched>();
  const touch = (object: EffectObject): Touched => {
    const known = touched.get(object.uid) ?? { object, names: new Set<string>() };
    touched.set(object.uid, known);
    return known;
  };
  for (const { object, names } of given) for (const name of names) touch(object).names.add(name);
  for (const { object, name } of gathered.forgotten) touch(object).names.add(name);
  for (const write of gathered.writes) {
    if (write.op !== 'update' && write.op !== 'overwrite') continue;
    const wanted = write.object.metadata?.finalizers;
    // An update that does not contain finalizers does not change them.
    const before = wanted && (await gathered.before(write));
    const removed = before?.metadata.finalizers?.filter((one) => !wanted?.includes(one)) ?? [];
    if (!before || removed.length === 0) continue;
    touch(effectObject(write.kind, before)).finalizers = { removed, goes: goes(before, wanted) };
  }
  return [...touched.values()];
}

function goes({ metadata }: ApiObject, wanted: readonly string[] | undefined): boolean {
  return metadata.deletionRequestedAt !== undefined && wanted?.length === 0;
}

function requireFinished(
  { object, names, finalizers }: Touched,
  record: EffectRecord | undefined,
): void {
  for (const [name, state] of Object.entries(effectsIn(record))) {
    if (!isUnfinished(state) || names.has(name)) continue;
    const resource = { kind: object.kind.kind, ...object.key };
    throw new StatusError({
      code: 'FailedPrecondition',
      reason: 'EffectPending',
      message: `${resource.kind} "${keyString(object.key)}" keeps its finalizer ${finalizers?.removed.join(', ') ?? ''}: effect "${name}" is ${state.phase}; call the effect until it ends, or remove it in the transaction with forgetEffect after a check of what it created`,
      resource,
    });
  }
}

function operationOn(
  { object, names, finalizers }: Touched,
  record: EffectRecord | undefined,
): Operation | undefined {
  const all = Object.entries(record?.effects ?? {});
  const kept = finalizers?.goes ? [] : all.filter(([name]) => !names.has(name));
  if (kept.length < all.length) return recordWrite(object, record, Object.fromEntries(kept));
  // This check makes the commit fail if an effect starts meanwhile.
  return finalizers ? recordCheck(object.uid, record) : undefined;
}
