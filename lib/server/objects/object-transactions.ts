import {
  type Clock,
  conflict,
  limits,
  systemRandom,
  TimeSlice,
  timestamp,
} from '../../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  formatCursor,
  jsonEqual,
  keyString,
  type NewObject,
  type ObjectKey,
} from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type {
  ObjectOperation,
  ObjectStore,
  Operation,
  OperationResult,
} from '../../store/index.js';
// How the store applies an operation, to judge the next one of the same transaction by its outcome.
import { applyOperation } from '../../store/writes/operations.js';
import type { Access, AccessControl } from '../auth/index.js';
import type { CallContext } from '../api/call.js';
import type { JudgedWrites, Verdict } from '../admission/judged-writes.js';
import type { Judgement } from '../admission/judgement.js';
import {
  type GivenObjectOperation,
  type GivenOperation,
  type ProtectedMetadata,
  protectedResources,
} from './object-operations.js';
import { judgeGuard } from './object-guards.js';
import { accessesByIndex } from './kind-check-operations.js';
import type { Resources } from './resources.js';
import { answerTooLarge, demandFinalizersOnly, located } from './transaction-refusals.js';
import type { WritePlanner } from '../admission/write-planner.js';

/** What transactions are judged and committed with. */
export interface ObjectTransactionOptions {
  readonly store: ObjectStore;
  readonly authorizer: AccessControl;
  readonly planner: WritePlanner;
  readonly writes: JudgedWrites;
  readonly resources: Resources;
  readonly clock: Clock;
}

/** The objects of so few operations may be as large as objects can be. */
const unmeasuredOperationsMax = 16;

/** What becomes of one operation: what the store is to do, or what is known already. */
type Planned =
  | { readonly type: 'store'; readonly operation: Operation; readonly object?: ApiObject }
  | { readonly type: 'known'; readonly result: OperationResult | undefined };

/** The right that an operation needs, before anything is judged. */
export function accessOf(given: GivenObjectOperation): Access {
  const { type, served, namespace, finalizersOnly } = given;
  const { plural } = served.kind;
  const where = namespace === '-' ? '*' : namespace;
  // The right to finalizers is demanded for what changes of them.
  if (finalizersOnly) return { resource: plural, verb: 'get', namespace: where };
  switch (type) {
    case 'CREATE':
      return { resource: plural, verb: 'create', namespace: where };
    case 'UPDATE':
    case 'OVERWRITE':
      return { resource: plural, verb: 'update', namespace: where };
    case 'UPDATE_STATUS':
      return { resource: `${plural}/status`, verb: 'update', namespace: where };
    case 'DELETE':
    case 'DELETE_BY_NAME':
      return { resource: plural, verb: 'delete', namespace: where };
    case 'CHECK':
      return { resource: plural, verb: 'get', namespace: where };
  }
}

/**
 * Transactions of stores in other processes. Each is judged as the same single calls made one after
 * the other, and then committed as one. What was judged is checked inside the commit: every object
 * that an operation looked at must still be in the version that it was judged in.
 */
export class ObjectTransactions {
  readonly #options: ObjectTransactionOptions;

  constructor(options: ObjectTransactionOptions) {
    this.#options = options;
  }

  /** @throws StatusError what the first operation that can't be done is refused with; then nothing happened. */
  async transact(context: CallContext, operations: readonly GivenOperation[]): Promise<JsonObject> {
    const { store, writes } = this.#options;
    let kindChecks: readonly Operation[] | undefined;
    return writes.run(context, async (judgement): Promise<Verdict<JsonObject>> => {
      // A check of a kind does not come to hold again, so a further attempt begins with it.
      if (kindChecks) await store.transact(kindChecks);
      const plan = await this.#plan(context, operations, judgement);
      const planned = plan.flatMap((step) => (step.type === 'store' ? [step.operation] : []));
      kindChecks = planned.filter(({ op }) => op === 'checkKind');
      return {
        type: 'commit',
        operations: planned,
        answer: (results) => this.#answer(operations, plan, results),
      };
    });
  }

  #answer(
    operations: readonly GivenOperation[],
    plan: readonly Planned[],
    stored: readonly OperationResult[],
  ): JsonObject {
    const { store, resources } = this.#options;
    let next = 0;
    const results = plan.map((step, at) => {
      const result = step.type === 'store' ? stored[next++] : step.result;
      const served = operations[at]?.served;
      if (!result || !served || result.object.metadata.uid === '')
        return { object: '', exists: false, changed: false };
      const { object, exists, changed } = result;
      return { object: JSON.stringify(resources.show(served, object)), exists, changed };
    });
    return { results, cursor: formatCursor(store.revision, store.storeId) };
  }

  async #plan(
    context: CallContext,
    operations: readonly GivenOperation[],
    judgement: Judgement,
  ): Promise<readonly Planned[]> {
    const slice = new TimeSlice(this.#options.clock, { everyStep: true });
    const plan: Planned[] = [];
    let characters = 0;
    const touches = new Map<string, number>();
    for (const operation of operations) {
      if (operation.type === 'CHECK_KIND') continue;
      const id = idOf(operation.served.kind, operation.key);
      touches.set(id, (touches.get(id) ?? 0) + 1);
    }
    for (const [at, operation] of operations.entries()) {
      if (slice.due()) await slice.pause();
      const step = await this.#step(context, operation, judgement, touches).catch(
        async (error: unknown) => {
          await this.#demandKindChecks(plan);
          throw operations.length > 1 ? located(error, at) : error;
        },
      );
      plan.push(step);
      if (operations.length <= unmeasuredOperationsMax) continue;
      characters += this.#charactersOf(operation, step);
      if (characters > limits.transactionAnswerCharactersMax) throw answerTooLarge(at + 1);
    }
    return plan;
  }

  /**
   * Checks of kinds are judged in the commit. When a later operation is refused before that, they
   * come first: an overtaken transaction is Aborted, and its caller reads again.
   */
  async #demandKindChecks(before: readonly Planned[]): Promise<void> {
    const checks = before.flatMap((step) =>
      step.type === 'store' && step.operation.op === 'checkKind' ? [step.operation] : [],
    );
    if (checks.length > 0) await this.#options.store.transact(checks);
  }

  /** What an operation adds to the answer: a check of a few bytes is answered with a whole object. */
  #charactersOf({ served }: GivenOperation, step: Planned): number {
    const object = step.type === 'store' ? step.object : step.result?.object;
    return object ? JSON.stringify(this.#options.resources.show(served, object)).length : 0;
  }

  async #step(
    context: CallContext,
    given: GivenOperation,
    judgement: Judgement,
    touches: ReadonlyMap<string, number>,
  ): Promise<Planned> {
    const { authorizer } = this.#options;
    if (given.type === 'CHECK_KIND') {
      for (const access of accessesByIndex(given.served, given.check, undefined))
        await authorizer.demand(context.identity, access);
      return { type: 'store', operation: given.check };
    }
    const again = (touches.get(idOf(given.served.kind, given.key)) ?? 0) > 1;
    await authorizer.demand(context.identity, accessOf(given));
    // Whether values hold is told by the outcome, so it needs the right to read them.
    if (given.precondition.fields.size > 0 && given.type !== 'CHECK')
      await authorizer.demand(context.identity, { ...accessOf(given), ...reading(given) });
    switch (given.type) {
      case 'CREATE':
      case 'UPDATE':
      case 'OVERWRITE':
        if (given.finalizersOnly) return this.#finalizers(context, given, judgement);
        return this.#write(context, given, judgement);
      case 'UPDATE_STATUS':
        return this.#status(context, given, judgement, again);
      case 'DELETE':
      case 'DELETE_BY_NAME':
        return this.#deletion(context, given, judgement);
      case 'CHECK':
        return this.#check(context, given, judgement, again);
    }
  }

  async #write(
    context: CallContext,
    given: GivenObjectOperation,
    judgement: Judgement,
  ): Promise<Planned> {
    const { planner } = this.#options;
    const { served, namespace, key, object } = given;
    const mode = given.type === 'CREATE' ? 'create' : 'update';
    const first = !judgement.staging.has(served.kind, key);
    const asked = { served, namespace, name: key.name, object, mode } as const;
    const write = await planner.write(context, asked, judgement);
    const { before, operation } = write;
    if (before) await judgeGuard(this.#options, context, given, before);
    const wanted = await this.#protected(context, given, before);
    if (operation.op !== 'create' && operation.op !== 'update')
      throw new TypeError(`admission made a ${operation.op} of a ${given.type}`);
    const metadata = { ...operation.object.metadata, ...wanted };
    const stored: NewObject<ApiObject> = { ...operation.object, metadata };
    if (operation.op === 'create') {
      const creation: ObjectOperation = { op: 'create', kind: served.kind, object: stored };
      return this.#stage(given, creation, undefined, judgement);
    }
    // An object that an operation before has touched is guarded by that one.
    const replacement: ObjectOperation = first
      ? { ...operation, object: stored }
      : { op: 'overwrite', kind: served.kind, object: stored };
    return this.#stage(given, replacement, before, judgement);
  }

  async #finalizers(
    context: CallContext,
    given: GivenObjectOperation,
    judgement: Judgement,
  ): Promise<Planned> {
    const { planner, resources } = this.#options;
    const { served, key } = given;
    const { kind } = served;
    const first = !judgement.staging.has(kind, key);
    const before = await planner.require(served, key, judgement);
    await planner.demand(context, kind.plural, 'get', before);
    await judgeGuard(this.#options, context, given, before);
    demandFinalizersOnly(given, before, resources.show(served, before));
    const wanted = await this.#protected(context, given, before);
    const object = { ...before, metadata: { ...before.metadata, ...wanted } };
    const { uid, resourceVersion } = before.metadata;
    const operation: ObjectOperation = first
      ? { op: 'update', kind, object, precondition: { uid, resourceVersion } }
      : { op: 'overwrite', kind, object };
    return this.#stage(given, operation, before, judgement);
  }

  /** Finalizers, owner references and expiry to write: what differs needs the right to it. */
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
      await this.#options.authorizer.demand(context.identity, access);
      Object.assign(changed, { [field]: wanted[field] });
      if (!before) continue;
      const { planner } = this.#options;
      await planner.demand(context, resource, 'update', before);
      const after = { ...before, metadata: { ...before.metadata, ...changed } };
      await planner.demandChange(context, resource, { before, after });
    }
    return changed;
  }

  async #status(
    context: CallContext,
    given: GivenObjectOperation,
    judgement: Judgement,
    again: boolean,
  ): Promise<Planned> {
    const { served, key, object, precondition } = given;
    const { kind } = served;
    const first = !judgement.staging.has(kind, key);
    const planned = await this.#options.planner.status(context, served, key, object, [], judgement);
    const { current, status } = planned;
    await judgeGuard(this.#options, context, given, current);
    const { uid, resourceVersion } = current.metadata;
    // Controllers write status without a version: pinned only where something else was judged too.
    const { resourceVersion: version, generation, notDeleting, fields } = precondition;
    const guarded = version !== '' || generation > 0 || notDeleting || fields.size > 0;
    const pinned = again || guarded || this.#options.planner.narrows(context);
    const guard = pinned ? { uid, resourceVersion } : { uid };
    const update = { op: 'updateStatus', kind, key, status } as const;
    const operation: ObjectOperation = first ? { ...update, precondition: guard } : update;
    return this.#stage(given, operation, current, judgement);
  }

  async #deletion(
    context: CallContext,
    given: GivenObjectOperation,
    judgement: Judgement,
  ): Promise<Planned> {
    const { served, key } = given;
    const { kind } = served;
    const first = !judgement.staging.has(kind, key);
    const guard = async (object: ApiObject): Promise<void> => {
      await judgeGuard(this.#options, context, given, object);
    };
    const { planner } = this.#options;
    const object = await planner.deletion(context, served, key, guard, {}, judgement);
    const { uid, resourceVersion } = object.metadata;
    const operation: ObjectOperation = first
      ? { op: 'delete', kind, key, precondition: { uid, resourceVersion } }
      : { op: 'deleteByName', kind, key };
    return this.#stage(given, operation, object, judgement);
  }

  async #check(
    context: CallContext,
    given: GivenObjectOperation,
    judgement: Judgement,
    again: boolean,
  ): Promise<Planned> {
    const { planner } = this.#options;
    const { served, key, precondition } = given;
    const { kind } = served;
    const { staging } = judgement;
    const first = !staging.has(kind, key);
    if (precondition.absent) {
      const object = await planner.find(served, key, judgement);
      if (object) {
        await planner.demand(context, kind.plural, 'get', object);
        throw conflict({ kind: kind.kind, ...key }, 'none', object.metadata.resourceVersion);
      }
      if (!first) return { type: 'known', result: undefined };
      staging.set(kind, key, undefined);
      const operation: Operation = { op: 'check', kind, key, precondition: { exists: false } };
      return { type: 'store', operation };
    }
    const object = await planner.require(served, key, judgement);
    await planner.demand(context, kind.plural, 'get', object);
    const demanded = await judgeGuard(this.#options, context, given, object);
    if (!first) return { type: 'known', result: { object, exists: true, changed: false } };
    staging.set(kind, key, object);
    const { uid, resourceVersion } = object.metadata;
    // The commit compares what the caller demanded and no more, but for a right that goes by the object,
    // and for an object that a further operation is judged by.
    const pinned = again || precondition.resourceVersion !== '' || planner.narrows(context);
    const guard = pinned ? { uid, resourceVersion } : { ...demanded, uid };
    const operation: Operation = { op: 'check', kind, key, precondition: guard };
    return { type: 'store', operation, object };
  }

  /** Notes what an operation on `current` leaves, for those after it. */
  #stage(
    { served, key }: GivenObjectOperation,
    operation: ObjectOperation,
    current: ApiObject | undefined,
    { staging }: Judgement,
  ): Planned {
    const applied = applyOperation(operation, current, {
      // No version of any object: nothing can be guarded by a state that is not stored.
      revision: -1,
      now: timestamp(this.#options.clock),
      uid: () => systemRandom.uuid(),
    });
    staging.set(served.kind, key, applied.exists ? applied.object : undefined);
    return { type: 'store', operation, object: applied.object };
  }
}

function idOf(kind: AnyKind, key: ObjectKey): string {
  return `${kind.kind} ${keyString(key)}`;
}

function reading({ served }: GivenObjectOperation): Pick<Access, 'resource' | 'verb'> {
  return { resource: served.kind.plural, verb: 'get' };
}
