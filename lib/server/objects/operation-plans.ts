import { type Clock, conflict, systemRandom, timestamp } from '../../base/index.js';
import { type ApiObject, jsonEqual, type NewObject } from '../../object/index.js';
import { objectId } from '../../object/object-id.js';
import type { ObjectOperation, Operation, OperationResult } from '../../store/index.js';
import { applyOperation } from '../../store/writes/operations.js';
import type { AccessControl } from '../auth/index.js';
import type { CallContext } from '../api/call.js';
import type { Validation } from '../admission/validation.js';
import {
  type GivenObjectOperation,
  type GivenOperation,
  type ProtectedMetadata,
  protectedResources,
} from './object-operations.js';
import { checkGuard } from './object-guards.js';
import { accessesByIndex } from './kind-check-operations.js';
import type { Resources } from './resources.js';
import { requireFinalizersOnly } from './transaction-refusals.js';
import type { WritePlanner } from '../admission/write-planner.js';
import { accessOf, reading } from './object-rights.js';

// The function by which the store applies an operation; the next operation of the transaction is validated against
// its result.

/** Dependencies of {@link OperationPlans}. */
export interface OperationPlanOptions {
  readonly authorizer: AccessControl;
  readonly planner: WritePlanner;
  readonly resources: Resources;
  readonly clock: Clock;
}

/** The plan of one operation: an operation of the store, or a known result. */
export type Planned =
  | { readonly type: 'store'; readonly operation: Operation; readonly object?: ApiObject }
  | { readonly type: 'known'; readonly result: OperationResult | undefined };

/** Validates the operations of a transaction, each against the effects of the earlier ones. */
export class OperationPlans {
  readonly #options: OperationPlanOptions;

  constructor(options: OperationPlanOptions) {
    this.#options = options;
  }

  /**
   * Authorizes, validates and plans one operation, and stages its effect in `validation` for later operations. Called in
   * the order of the transaction.
   * @param validation the one of the whole transaction
   * @param touches number of operations of the transaction on the object of each id
   * @throws StatusError the error of a refused operation
   */
  async step(
    context: CallContext,
    given: GivenOperation,
    validation: Validation,
    touches: ReadonlyMap<string, number>,
  ): Promise<Planned> {
    const { authorizer } = this.#options;
    if (given.type === 'CHECK_KIND') {
      for (const access of accessesByIndex(given.served, given.check, undefined))
        await authorizer.require(context.identity, access);
      return { type: 'store', operation: given.check };
    }
    const again = (touches.get(objectId(given.served.kind, given.key)) ?? 0) > 1;
    await authorizer.require(context.identity, accessOf(given));
    // The outcome discloses whether values match, so it needs the right to read them.
    if (given.precondition.fields.size > 0 && given.type !== 'CHECK')
      await authorizer.require(context.identity, { ...accessOf(given), ...reading(given) });
    switch (given.type) {
      case 'CREATE':
      case 'UPDATE':
      case 'OVERWRITE':
        if (given.finalizersOnly) return this.#finalizers(context, given, validation);
        return this.#write(context, given, validation);
      case 'UPDATE_STATUS':
        return this.#status(context, given, validation, again);
      case 'DELETE':
      case 'DELETE_BY_NAME':
        return this.#deletion(context, given, validation);
      case 'CHECK':
        return this.#check(context, given, validation, again);
    }
  }

  async #write(
    context: CallContext,
    given: GivenObjectOperation,
    validation: Validation,
  ): Promise<Planned> {
    const { planner } = this.#options;
    const { served, namespace, key, object } = given;
    const mode = given.type === 'CREATE' ? 'create' : 'update';
    const first = !validation.staging.has(served.kind, key);
    const asked = { served, namespace, name: key.name, object, mode } as const;
    const guard = (stored: ApiObject): Promise<unknown> =>
      checkGuard(this.#options, context, given, stored);
    const { before, operation } = await planner.write(context, asked, validation, guard);
    const wanted = await this.#protected(context, given, before);
    if (operation.op !== 'create' && operation.op !== 'update')
      throw new TypeError(`admission changed a ${given.type} to a ${operation.op}`);
    const metadata = { ...operation.object.metadata, ...wanted };
    const stored: NewObject<ApiObject> = { ...operation.object, metadata };
    if (operation.op === 'create') {
      const creation: ObjectOperation = { op: 'create', kind: served.kind, object: stored };
      return this.#stage(given, creation, undefined, validation);
    }
    // If an earlier operation wrote the object, that operation has the guard.
    const replacement: ObjectOperation = first
      ? { ...operation, object: stored }
      : { op: 'overwrite', kind: served.kind, object: stored };
    return this.#stage(given, replacement, before, validation);
  }

  async #finalizers(
    context: CallContext,
    given: GivenObjectOperation,
    validation: Validation,
  ): Promise<Planned> {
    const { planner, resources } = this.#options;
    const { served, key } = given;
    const { kind } = served;
    const first = !validation.staging.has(kind, key);
    const before = await planner.require(served, key, validation);
    await planner.requireAccess(context, kind.plural, 'get', before);
    await checkGuard(this.#options, context, given, before);
    requireFinalizersOnly(given, before, resources.show(served, before));
    const wanted = await this.#protected(context, given, before);
    const object = { ...before, metadata: { ...before.metadata, ...wanted } };
    const { uid, resourceVersion } = before.metadata;
    const operation: ObjectOperation = first
      ? { op: 'update', kind, object, precondition: { uid, resourceVersion } }
      : { op: 'overwrite', kind, object };
    return this.#stage(given, operation, before, validation);
  }

  /**
   * Returns the finalizers, owner references and expiry that differ from the stored ones.
   * @throws StatusError PermissionDenied for a change without the right to it
   */
  async #protected(
    context: CallContext,
    given: GivenObjectOperation,
    before: ApiObject | undefined,
  ): Promise<ProtectedMetadata> {
    const { served, protectedMetadata } = given;
    const { plural } = served.kind;
    const own = before ? [] : (served.rules.finalizers ?? []);
    const { finalizers } = protectedMetadata;
    const wanted = {
      ...protectedMetadata,
      ...(finalizers ? { finalizers: [...new Set([...own, ...finalizers])] } : {}),
    };
    const meta: ProtectedMetadata = before?.metadata ?? { finalizers: own };
    const changed: ProtectedMetadata = {};
    for (const field of Object.keys(wanted) as (keyof ProtectedMetadata)[]) {
      if (jsonEqual(wanted[field] ?? [], meta[field] ?? [])) continue;
      const resource = `${plural}/${protectedResources[field]}`;
      const access = { ...accessOf(given), resource, verb: 'update' };
      await this.#options.authorizer.require(context.identity, access);
      Object.assign(changed, { [field]: wanted[field] });
      if (!before) continue;
      const { planner } = this.#options;
      await planner.requireAccess(context, resource, 'update', before);
      const after = { ...before, metadata: { ...before.metadata, ...changed } };
      await planner.requireChange(context, resource, { before, after });
    }
    return changed;
  }

  async #status(
    context: CallContext,
    given: GivenObjectOperation,
    validation: Validation,
    again: boolean,
  ): Promise<Planned> {
    const { served, key, object, precondition } = given;
    const { kind } = served;
    const first = !validation.staging.has(kind, key);
    const planned = await this.#options.planner.status(
      context,
      served,
      key,
      object,
      [],
      validation,
      (stored) => checkGuard(this.#options, context, given, stored),
    );
    const { current, status } = planned;
    const { uid, resourceVersion } = current.metadata;
    // Controllers write status without a version: it is required only if other parts were validated too.
    const { resourceVersion: version, generation, notDeleting, fields } = precondition;
    const guarded = version !== '' || generation > 0 || notDeleting || fields.size > 0;
    const pinned = again || guarded || this.#options.planner.narrows(context);
    const guard = pinned ? { uid, resourceVersion } : { uid };
    const update = { op: 'updateStatus', kind, key, status } as const;
    const operation: ObjectOperation = first ? { ...update, precondition: guard } : update;
    return this.#stage(given, operation, current, validation);
  }

  async #deletion(
    context: CallContext,
    given: GivenObjectOperation,
    validation: Validation,
  ): Promise<Planned> {
    const { served, key } = given;
    const { kind } = served;
    const first = !validation.staging.has(kind, key);
    const guard = async (object: ApiObject): Promise<void> => {
      await checkGuard(this.#options, context, given, object);
    };
    const { planner } = this.#options;
    const object = await planner.deletion(context, served, key, guard, {}, validation);
    const { uid, resourceVersion } = object.metadata;
    const operation: ObjectOperation = first
      ? { op: 'delete', kind, key, precondition: { uid, resourceVersion } }
      : { op: 'deleteByName', kind, key };
    return this.#stage(given, operation, object, validation);
  }

  async #check(
    context: CallContext,
    given: GivenObjectOperation,
    validation: Validation,
    again: boolean,
  ): Promise<Planned> {
    const { planner } = this.#options;
    const { served, key, precondition } = given;
    const { kind } = served;
    const { staging } = validation;
    const first = !staging.has(kind, key);
    if (precondition.absent) {
      const object = await planner.find(served, key, validation);
      if (object) {
        await planner.requireAccess(context, kind.plural, 'get', object);
        throw conflict({ kind: kind.kind, ...key }, 'none', object.metadata.resourceVersion);
      }
      if (!first) return { type: 'known', result: undefined };
      staging.set(kind, key, undefined);
      const operation: Operation = { op: 'check', kind, key, precondition: { exists: false } };
      return { type: 'store', operation };
    }
    const object = await planner.require(served, key, validation);
    await planner.requireAccess(context, kind.plural, 'get', object);
    const required = await checkGuard(this.#options, context, given, object);
    if (!first) return { type: 'known', result: { object, exists: true, changed: false } };
    staging.set(kind, key, object);
    const { uid, resourceVersion } = object.metadata;
    // The commit compares only what the caller required, except for a right that depends on the object, and for an
    // object that a further operation is validated against.
    const pinned = again || precondition.resourceVersion !== '' || planner.narrows(context);
    const guard = pinned ? { uid, resourceVersion } : { ...required, uid };
    const operation: Operation = { op: 'check', kind, key, precondition: guard };
    return { type: 'store', operation, object };
  }

  /** Stages the effect of an operation on `current` for later operations. */
  #stage(
    { served, key }: GivenObjectOperation,
    operation: ObjectOperation,
    current: ApiObject | undefined,
    { staging }: Validation,
  ): Planned {
    const applied = applyOperation(operation, current, {
      // No version has this revision: nothing may be guarded by a state that is not stored.
      revision: -1,
      now: timestamp(this.#options.clock),
      uid: () => systemRandom.uuid(),
    });
    staging.set(served.kind, key, applied.exists ? applied.object : undefined);
    return { type: 'store', operation, object: applied.object };
  }
}
