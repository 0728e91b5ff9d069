import { hasCode } from '../../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  defineKind,
  keyOf,
  keyString,
  type ObjectKey,
  parseKey,
  requiredUid,
} from '../../object/index.js';
import type { ObjectStore, Operation } from '../../store/index.js';
import { type EffectRecord, effectsIn, type EffectState } from './effect-shape.js';

export type { EffectRecord, EffectState };

/**
 * Records of external calls, by object. A record belongs to the object and not to a controller, so that another
 * controller that takes over the object finds it. It is an ordinary kind, so that the transaction with the results
 * also writes the record.
 */
export const effectRecords = defineKind<EffectRecord>({
  kind: 'EffectRecord',
  plural: 'effectrecords',
  scope: 'Cluster',
  statusFields: [],
  takenWhenFull: true,
});

/** Maximum attempts of a write: another controller may write the record at the same time. */
const triesMax = 16;

/** The object that an effect is for. */
export interface EffectObject {
  readonly kind: AnyKind;
  readonly key: ObjectKey;
  readonly uid: string;
}

/** Returns the object that an effect is for. @throws StatusError InvalidArgument for an object without uid. */
export function effectObject(kind: AnyKind, object: ApiObject): EffectObject {
  return { kind, key: keyOf(object), uid: requiredUid(kind, object) };
}

/** The object of a stored record. Its kind is used only to read it. */
export function objectOfRecord({ name, of, key }: EffectRecord): EffectObject {
  const parsed = parseKey(key);
  const scope = parsed.namespace === undefined ? 'Cluster' : 'Namespaced';
  const kind = defineKind<ApiObject>({
    kind: of,
    plural: of.toLowerCase(),
    scope,
    statusFields: [],
  });
  return { kind, key: parsed, uid: name };
}

/** True while the outcome of a call is not known: the call is in phase `called` or `pending`. */
export function isUnfinished({ phase }: EffectState): boolean {
  return phase === 'called' || phase === 'pending';
}

/** The state of one effect in a record; undefined if it has none. */
export function stateIn(record: EffectRecord | undefined, name: string): EffectState | undefined {
  const effects = effectsIn(record);
  return Object.hasOwn(effects, name) ? effects[name] : undefined;
}

/**
 * The operation that writes a record with these effects. It fails if another writer changed the record since. Undefined
 * if there is nothing to write.
 */
export function recordWrite(
  object: EffectObject,
  record: EffectRecord | undefined,
  effects: EffectRecord['effects'],
): Operation | undefined {
  const kind: AnyKind = effectRecords;
  const key = { name: object.uid };
  const isEmpty = Object.keys(effects).length === 0;
  const fields = { of: object.kind.kind, key: keyString(object.key), effects };
  if (!record) return isEmpty ? undefined : { op: 'create', kind, object: { ...key, ...fields } };
  const { uid, resourceVersion } = record.metadata;
  const precondition = { uid, resourceVersion };
  if (isEmpty) return { op: 'delete', kind, key, precondition };
  return { op: 'update', kind, object: { ...record, ...fields }, precondition };
}

/** The check that a record is unchanged since it was read. */
export function recordCheck(uid: string, record: EffectRecord | undefined): Operation {
  const kind: AnyKind = effectRecords;
  const key = { name: uid };
  if (!record) return { op: 'check', kind, key, precondition: { exists: false } };
  const { metadata } = record;
  const precondition = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
  return { op: 'check', kind, key, precondition };
}

/** The check that the object of a record still exists, with the same uid. */
function objectCheck({ kind, key, uid }: EffectObject): Operation {
  return { op: 'check', kind, key, precondition: { uid } };
}

/** Whether a write was refused because another writer changed the record first. */
export function wasRecordOvertaken(error: unknown): boolean {
  if (hasCode(error, 'Aborted')) return error.reason === 'Conflict';
  const refused = hasCode(error, 'NotFound') || hasCode(error, 'AlreadyExists');
  return refused && error.resource?.kind === effectRecords.kind;
}

/** Whether {@link objectCheck} refused a write: another object has the name. */
function isGone(error: unknown, { kind }: EffectObject): boolean {
  return hasCode(error, 'Aborted') && error.resource?.kind === kind.kind;
}

/** Reads the record of one object; undefined if it has none. */
export function readRecord(store: ObjectStore, uid: string): Promise<EffectRecord | undefined> {
  return store.get(effectRecords, { name: uid });
}

/**
 * Changes one stored effect: `change` returns the next state, undefined to remove it, or its
 * argument to leave it unchanged. Other effects of the object stay. `more` is written in the same
 * transaction. A new effect starts only for an existing object: otherwise its record would never be
 * removed.
 * @returns the state as it is stored now
 * @throws StatusError NotFound or Aborted if a new effect has no object any more
 */
export async function changeEffect(
  store: ObjectStore,
  object: EffectObject,
  name: string,
  change: (current: EffectState | undefined) => EffectState | undefined,
  more: readonly Operation[] = [],
): Promise<EffectState | undefined> {
  for (let tries = 1; ; tries += 1) {
    const record = await readRecord(store, object.uid);
    const current = stateIn(record, name);
    const next = change(current);
    if (next === current) return current;
    const others = Object.entries(record?.effects ?? {}).filter(([other]) => other !== name);
    const effects = Object.fromEntries(next ? [...others, [name, next]] : others);
    const write = recordWrite(object, record, effects);
    const begins = next && !current ? [objectCheck(object)] : [];
    try {
      await store.transact([...(write ? [write] : []), ...begins, ...more]);
      return next;
    } catch (error) {
      if (isGone(error, object) || !wasRecordOvertaken(error) || tries >= triesMax) throw error;
      // The competing write may not be durable yet: wait until reads show it.
      await store.transact([]);
    }
  }
}

/** The fields that an effect has in all phases. */
export function commonFields({
  idempotencyKey,
  controller,
  key,
  startedAt,
}: EffectState): Omit<EffectState, 'phase'> {
  return { idempotencyKey, controller, key, startedAt };
}

/** The object as text: kind and key. */
export function nameOfObject({ kind, key }: EffectObject): string {
  return `${kind.kind} "${keyString(key)}"`;
}
