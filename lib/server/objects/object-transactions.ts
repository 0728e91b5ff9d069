import { limits, TimeSlice } from '../../base/index.js';
import { formatCursor } from '../../object/index.js';
import { objectId } from '../../object/object-id.js';
import type { JsonObject } from '../../rpc/index.js';
import type { ObjectStore, Operation, OperationResult } from '../../store/index.js';
import type { CallContext } from '../api/call.js';
import type { ValidatedWrites, Verdict } from '../admission/validated-writes.js';
import type { Validation } from '../admission/validation.js';
import type { GivenOperation } from './object-operations.js';
import { answerTooLarge, located } from './transaction-refusals.js';
import { OperationPlans, type OperationPlanOptions, type Planned } from './operation-plans.js';

// The function by which the store applies an operation; the next operation of the transaction is validated against
// its result.

/** Options of transactions. */
export interface ObjectTransactionOptions extends OperationPlanOptions {
  readonly store: ObjectStore;
  readonly writes: ValidatedWrites;
}

/** Up to this many operations, each object may have the maximum size, so the answer is not measured. */
const unmeasuredOperationsMax = 16;

/**
 * Transactions of stores in other processes. Each is validated like the same single calls in order, and then committed
 * as one. The commit checks what the validation depends on: the versions of the objects that are replaced or deleted,
 * and what an operation requires of other objects.
 */
export class ObjectTransactions {
  readonly #options: ObjectTransactionOptions;
  readonly #plans: OperationPlans;

  constructor(options: ObjectTransactionOptions) {
    this.#options = options;
    this.#plans = new OperationPlans(options);
  }

  /**
   * Validates the operations, commits them, and returns the answer.
   * @throws StatusError the error of the first operation that is refused; then nothing is written.
   */
  async transact(context: CallContext, operations: readonly GivenOperation[]): Promise<JsonObject> {
    const { store, writes } = this.#options;
    let kindChecks: readonly Operation[] | undefined;
    return writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
      // A check of a kind that failed never holds again, so a further attempt first repeats these checks.
      if (kindChecks) await store.transact(kindChecks);
      const plan = await this.#plan(context, operations, validation);
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
    validation: Validation,
  ): Promise<readonly Planned[]> {
    const slice = new TimeSlice(this.#options.clock, { everyStep: true });
    const plan: Planned[] = [];
    let characters = 0;
    const touches = new Map<string, number>();
    for (const operation of operations) {
      if (operation.type === 'CHECK_KIND') continue;
      const id = objectId(operation.served.kind, operation.key);
      touches.set(id, (touches.get(id) ?? 0) + 1);
    }
    for (const [at, operation] of operations.entries()) {
      if (slice.due()) await slice.pause();
      const step = await this.#plans
        .step(context, operation, validation, touches)
        .catch(async (error: unknown) => {
          await this.#requireKindChecks(plan);
          throw operations.length > 1 ? located(error, at) : error;
        });
      plan.push(step);
      if (operations.length <= unmeasuredOperationsMax) continue;
      characters += this.#charactersOf(operation, step);
      if (characters > limits.transactionAnswerCharactersMax) throw answerTooLarge(at + 1);
    }
    return plan;
  }

  /**
   * Commits the checks of kinds alone, before the refusal of a later operation is reported: a transaction with a
   * conflict is Aborted, so that its caller reads again.
   */
  async #requireKindChecks(before: readonly Planned[]): Promise<void> {
    const checks = before.flatMap((step) =>
      step.type === 'store' && step.operation.op === 'checkKind' ? [step.operation] : [],
    );
    if (checks.length > 0) await this.#options.store.transact(checks);
  }

  /** The characters that an operation adds to the answer, which has a whole object even for a small check. */
  #charactersOf({ served }: GivenOperation, step: Planned): number {
    const object = step.type === 'store' ? step.object : step.result?.object;
    return object ? JSON.stringify(this.#options.resources.show(served, object)).length : 0;
  }
}
