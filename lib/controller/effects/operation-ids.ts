import type { Clock } from '../../base/index.js';
import type { ApiObject, Kind } from '../../object/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { OperationIds } from './effect.js';
import {
  changeEffect,
  type EffectObject,
  effectObject,
  type EffectState,
  readRecord,
  stateIn,
} from './effect-records.js';

/** Dependencies of {@link operationIds}, and the owner of the operations. */
export interface OperationIdsOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** Name of the controller whose key is queued after a restart, or of another component. */
  readonly controller: string;
  /** The key that is queued after a restart. */
  readonly key: string;
}

/**
 * Ids of operations of one object, for code outside of a reconcile; a reconcile uses
 * `context.operations`. Both use the same records: a controller that takes over the object finds
 * them.
 * @throws StatusError InvalidArgument for an object without uid.
 */
export function operationIds<T extends ApiObject>(
  options: OperationIdsOptions,
  kind: Kind<T>,
  object: T,
): OperationIds {
  const { store } = options;
  const about = effectObject(kind, object);
  return idsOf(options, about, (name, change) => changeEffect(store, about, name, change));
}

/** Returns the operation ids of an object. `write` changes one effect in the record of the object. */
export function idsOf(
  { store, clock, controller, key }: OperationIdsOptions,
  object: EffectObject,
  write: (
    name: string,
    change: (current: EffectState | undefined) => EffectState | undefined,
  ) => Promise<unknown>,
): OperationIds {
  return {
    get: async (name) => {
      const state = stateIn(await readRecord(store, object.uid), name);
      return state?.phase === 'pending' ? state.operationId : undefined;
    },
    set: async (name, operationId) => {
      if (operationId === '') throw new TypeError(`the id of operation "${name}" is empty`);
      // The caller made the call with a key of its own, which is unknown here.
      const idempotencyKey = operationId;
      const startedAt = clock.now();
      await write(name, (current) => {
        if (current?.phase === 'pending' && current.operationId === operationId) return current;
        return { phase: 'pending', operationId, idempotencyKey, startedAt, controller, key };
      });
    },
    clear: async (name) => {
      await write(name, () => undefined);
    },
  };
}
