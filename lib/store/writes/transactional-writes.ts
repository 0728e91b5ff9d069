import {
  type ApiObject,
  asObject,
  type Kind,
  keyFor,
  type NewObject,
  type ObjectKey,
  type Scope,
  type StatusUpdate,
  requiredUid,
  requiredVersion,
} from '../../object/index.js';
import type { StoreWriter } from '../contract/object-store.js';
import type { Operation, OperationResult, Precondition } from '../contract/operations.js';

/** Single writes of a store as transactions of one operation, for stores with `transact`. */
export abstract class TransactionalWrites implements StoreWriter {
  abstract transact(operations: readonly Operation[]): Promise<readonly OperationResult[]>;

  create<T extends ApiObject, N extends Scope, C>(
    kind: Kind<T, string, string, N, C>,
    object: NoInfer<NewObject<T, N, C>>,
  ): Promise<T> {
    return this.#single<T>({ op: 'create', kind, object: asObject(object) });
  }

  async update<T extends ApiObject>(kind: Kind<T>, object: T): Promise<T> {
    const precondition = requiredVersion(kind, object);
    return this.#single<T>({ op: 'update', kind, object, precondition });
  }

  overwrite<T extends ApiObject, C>(
    kind: Kind<T, string, string, Scope, C>,
    object: NoInfer<NewObject<T, Scope, C>>,
  ): Promise<T> {
    return this.#single<T>({ op: 'overwrite', kind, object: asObject(object) });
  }

  updateStatus<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: StatusUpdate<T, S>,
    guard?: Precondition,
  ): Promise<T> {
    return this.#single<T>({ op: 'updateStatus', kind, key, status, ...guarded(guard) });
  }

  async delete<T extends ApiObject>(kind: Kind<T>, object: T, guard?: Precondition): Promise<T> {
    const precondition = { ...guard, uid: requiredUid(kind, object) };
    return this.#single<T>({
      op: 'delete',
      kind,
      key: keyFor(kind, object.namespace, object.name),
      precondition,
    });
  }

  deleteByName<T extends ApiObject>(
    kind: Kind<T>,
    key: ObjectKey,
    guard?: Precondition,
  ): Promise<T> {
    return this.#single<T>({ op: 'deleteByName', kind, key, ...guarded(guard) });
  }

  #single<T extends ApiObject>(operation: Operation): Promise<T> {
    return this.transact([operation]).then(([result]) => result?.object as T);
  }
}

function guarded(precondition: Precondition | undefined): { precondition?: Precondition } {
  return precondition ? { precondition } : {};
}
