import { messageOf, StatusError } from '../../base/index.js';
import type { AnyKind, ApiObject } from '../../object/index.js';
import type { Operation } from '../../store/index.js';
import {
  type EffectCall,
  type EffectOperation,
  type EffectOutcome,
  type EffectStart,
  type Json,
  type OperationIds,
  requireAnswer,
} from './effect.js';
import {
  changeEffect,
  type EffectObject,
  effectObject,
  effectRecords,
  type EffectState,
  isUnfinished,
  objectOfRecord,
  readRecord,
  recordWrite,
  commonFields,
  nameOfObject,
} from './effect-records.js';
import { effectsIn } from './effect-shape.js';
import { idsOf } from './operation-ids.js';
import type { EffectsOptions } from './effects-options.js';

/** An object for which runs of a key called effects. */
interface Tracked {
  readonly object: EffectObject;
  /** Finished effects whose outcome the key's present run received since its last commit. */
  readonly given: Set<string>;
}

type State<P extends EffectState['phase']> = EffectState & { readonly phase: P };

/**
 * The external calls of one controller's runs. Nothing is cached: the store is authoritative,
 * regardless of which process wrote it.
 */
export class Effects {
  readonly #options: EffectsOptions;
  /** By key of the controller and uid of the object, while a record may exist. */
  readonly #tracked = new Map<string, Map<string, Tracked>>();
  /** Writes in progress by uid: several effects of one object are written one after the other. */
  readonly #tails = new Map<string, Promise<unknown>>();

  constructor(options: EffectsOptions) {
    this.#options = options;
  }

  /** Reads and tracks the effects that an earlier process left, in any state. Returns their keys. */
  async load(): Promise<readonly string[]> {
    const { store, controller } = this.#options;
    const { items } = await store.list(effectRecords);
    this.#tracked.clear();
    for (const record of items)
      for (const state of Object.values(effectsIn(record)))
        if (state.controller === controller) this.#track(state.key, objectOfRecord(record));
    return [...this.#tracked.keys()];
  }

  /** Implements ReconcileContext.effect for a call, with its results and errors. */
  async call(
    key: string,
    kind: AnyKind,
    object: ApiObject,
    name: string,
    call: EffectCall<Json>,
  ): Promise<Json> {
    const about = this.#track(key, effectObject(kind, object)).object;
    const state = await this.#begin(key, about, object, name);
    switch (state.phase) {
      case 'done':
        return this.#give(key, about, name, state.result as Json);
      case 'called': {
        const result = await call(state.idempotencyKey);
        await this.#advance(about, name, state, { ...state, phase: 'done', result });
        return this.#give(key, about, name, result);
      }
      default:
        throw new TypeError(
          `effect "${name}" of ${nameOfObject(about)} was started as an operation; give start and poll`,
        );
    }
  }

  /** Implements ReconcileContext.effect for an operation. */
  async operate(
    key: string,
    kind: AnyKind,
    object: ApiObject,
    name: string,
    operation: EffectOperation<Json>,
  ): Promise<EffectOutcome<Json>> {
    const about = this.#track(key, effectObject(kind, object)).object;
    const state = await this.#begin(key, about, object, name);
    switch (state.phase) {
      case 'called': {
        const given = await operation.start(state.idempotencyKey);
        const answer: EffectStart<Json> = requireAnswer(name, 'start', given);
        if (answer.type !== 'started') return this.#end(key, about, name, state, answer);
        const { operationId, pollAfterMs } = answer;
        const pending = { ...state, phase: 'pending', operationId } as const;
        await this.#advance(about, name, state, pending);
        if (pollAfterMs !== undefined) return { type: 'pending', pollAfterMs };
        return this.#poll(key, about, name, pending, operation);
      }
      case 'pending':
        return this.#poll(key, about, name, state, operation);
      case 'done':
        return this.#give(key, about, name, { type: 'done', result: state.result as Json });
      case 'failed': {
        const { reason, message } = state;
        return this.#give(key, about, name, { type: 'failed', reason, message });
      }
    }
  }

  async #poll(
    key: string,
    object: EffectObject,
    name: string,
    state: State<'pending'>,
    operation: EffectOperation<Json>,
  ): Promise<EffectOutcome<Json>> {
    const answer = requireAnswer(name, 'poll', await operation.poll(state.operationId));
    if (answer.type === 'pending') return answer;
    if (answer.type !== 'unknown') return this.#end(key, object, name, state, answer);
    // The next call has the same key, so that the provider returns the earlier result, if any.
    await this.#advance(object, name, state, { ...commonFields(state), phase: 'called' });
    return answer;
  }

  async #end(
    key: string,
    object: EffectObject,
    name: string,
    state: EffectState,
    outcome: EffectOutcome<Json> & { readonly type: 'done' | 'failed' },
  ): Promise<EffectOutcome<Json>> {
    const { type, ...rest } = outcome;
    const next = { ...commonFields(state), phase: type, ...rest } as State<'done' | 'failed'>;
    await this.#advance(object, name, state, next);
    return this.#give(key, object, name, outcome);
  }

  /** The operation ids that a run sets and clears itself; see ReconcileContext.operations. */
  ids(key: string, kind: AnyKind, object: ApiObject): OperationIds {
    const about = this.#track(key, effectObject(kind, object)).object;
    return idsOf({ ...this.#options, key }, about, (name, change) =>
      this.#write(about, name, change),
    );
  }

  /**
   * Returns the state from which to continue: the stored one, that of an earlier release, or a new intent, which is
   * stored.
   */
  async #begin(
    key: string,
    about: EffectObject,
    object: ApiObject,
    name: string,
  ): Promise<EffectState> {
    const { controller, random, journal } = this.#options;
    const fresh = { ...this.#owner(key), idempotencyKey: random.uuid(), phase: 'called' } as const;
    const earlier = await journal.earlierEffect(key, name, object.metadata.createdAt);
    const intent: EffectState = earlier
      ? {
          ...fresh,
          idempotencyKey: earlier.idempotencyKey,
          ...(earlier.done ? { phase: 'done', result: earlier.result as Json } : {}),
        }
      : fresh;
    const begun = await this.#write(
      about,
      name,
      (current) => {
        if (!current) return intent;
        const isMine = current.controller === controller && current.key === key;
        // An unfinished effect moves to the key that requested it last, so that a restart queues this key.
        return isMine || !isUnfinished(current) ? current : { ...current, controller, key };
      },
      earlier?.operations,
    );
    if (earlier && begun === intent) journal.forgotEarlierEffect(key, name);
    return begun ?? intent;
  }

  /**
   * Replaces the state of an effect.
   * @throws StatusError Aborted (EffectTakenOver) when another run finished and removed it.
   */
  async #advance(
    object: EffectObject,
    name: string,
    from: EffectState,
    to: EffectState,
  ): Promise<void> {
    await this.#write(object, name, (current) => {
      if (current?.idempotencyKey === from.idempotencyKey) return to;
      throw new StatusError({
        code: 'Aborted',
        reason: 'EffectTakenOver',
        message: `effect "${name}" of ${nameOfObject(object)} was finished by another run meanwhile; read the object again`,
        resource: { kind: object.kind.kind, ...object.key },
      });
    });
  }

  #write(
    object: EffectObject,
    name: string,
    change: (current: EffectState | undefined) => EffectState | undefined,
    more: readonly Operation[] = [],
  ): Promise<EffectState | undefined> {
    const { uid } = object;
    const write = (): Promise<EffectState | undefined> =>
      changeEffect(this.#options.store, object, name, change, more);
    const written = (this.#tails.get(uid) ?? Promise.resolve()).then(write);
    // The caller of this write handles its error; `tail` only orders later writes.
    const tail = written
      .catch(() => undefined)
      .then(() => {
        if (this.#tails.get(uid) === tail) this.#tails.delete(uid);
      });
    this.#tails.set(uid, tail);
    return written;
  }

  #owner(key: string): Pick<EffectState, 'controller' | 'key' | 'startedAt'> {
    const { controller, clock } = this.#options;
    return { controller, key, startedAt: clock.now() };
  }

  #track(key: string, object: EffectObject): Tracked {
    const objects = this.#tracked.get(key) ?? new Map<string, Tracked>();
    this.#tracked.set(key, objects);
    const tracked = objects.get(object.uid) ?? { object, given: new Set<string>() };
    objects.set(object.uid, tracked);
    return tracked;
  }

  #give<R>(key: string, object: EffectObject, name: string, outcome: R): R {
    this.#track(key, object).given.add(name);
    return outcome;
  }

  /** The effects whose outcome the run of the key received since its last commit. Its next transaction removes them. */
  given(key: string): readonly { readonly object: EffectObject; readonly names: Set<string> }[] {
    return [...(this.#tracked.get(key)?.values() ?? [])]
      .filter(({ given }) => given.size > 0)
      .map(({ object, given }) => ({ object, names: given }));
  }

  /** Removes the received outcomes from memory after a commit of the key. */
  committed(key: string): void {
    for (const { given } of this.#tracked.get(key)?.values() ?? []) given.clear();
  }

  /**
   * Called when a run of the key has ended. Removes the records of deleted objects, and stops tracking objects without
   * a record.
   */
  async settle(key: string): Promise<void> {
    const objects = this.#tracked.get(key);
    if (!objects) return;
    for (const tracked of objects.values()) {
      tracked.given.clear();
      try {
        if (!(await this.#remains(tracked.object))) objects.delete(tracked.object.uid);
      } catch (error) {
        // The next run of the key, or the next start, retries it.
        const { logger } = this.#options;
        const { kind, uid } = tracked.object;
        const fields = { key, kind: kind.kind, uid, error: messageOf(error) };
        logger.warn('effects of an object could not be collected', fields);
      }
    }
    if (objects.size === 0) this.#tracked.delete(key);
  }

  /** Returns whether the object has a record. The record of a deleted object is removed first. */
  async #remains(object: EffectObject): Promise<boolean> {
    const { store } = this.#options;
    const record = await readRecord(store, object.uid);
    if (!record) return false;
    const found = await store.get(object.kind, object.key);
    if (found?.metadata.uid === object.uid) return true;
    const removal = recordWrite(object, record, {});
    // A deleted object never returns: its uid is not reused.
    if (removal) await store.transact([removal]);
    return false;
  }
}
