import {
  type Condition,
  type ConditionStatus,
  done,
  findCondition,
  isDeleting,
  keyOf,
  type ObjectKey,
  pending,
  type ReconcileContext,
  type Result,
  type StatusUpdate,
  timestamp,
  type Transaction,
} from 'kedge';
import type { DriverError, OperationKind, Operations, Pending } from '@kedge/driver-sdk';
import { isDeletionAbandoned } from '../messages/abandoned-deletion.js';
import { nodes } from '../node/kind.js';
import { type Reason, setCondition } from '../reasons/index.js';
import { holderOf } from '../secret/index.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { DriverOperation } from '../volume/kind.js';
import { deletedCondition } from './conditions.js';
import type {
  ClassifiedFailure,
  Provisioned,
  ProvisionedKind,
  ProvisionedOptions,
  ResolvedCall,
  Report,
} from './contract.js';
import { type CalledVolume, driverCall } from './driver-call.js';
import { classifyFailure, isUnreadable } from './failure.js';
import { operationsOf, underWay } from './operations.js';
import { callsReport, isOutdated } from './provider-calls.js';
import { reportOf } from './report.js';
import {
  callAgain,
  driverErrorOf,
  requireCallHere,
  retryDelayMs,
  shownTime,
  writeStatus,
} from './retries.js';
import { type Part, type Placed, type CallingProcess, callingProcess } from './calling-process.js';

/**
 * The effects that the controllers of all provisioned kinds share. Status is written for the version that was read,
 * except the report of a call in progress. Only one process calls the driver. Answers, failures and operations in
 * progress are reported in the same fields. A kind adds its plan and its calls.
 */
export class ProvisionedEffects<T extends Provisioned, F extends string, S extends object> {
  readonly options: ProvisionedOptions;
  readonly #of: ProvisionedKind<T, F>;

  constructor(options: ProvisionedOptions, of: ProvisionedKind<T, F>) {
    this.options = options;
    this.#of = of;
  }

  get now(): string {
    return timestamp(this.options.clock);
  }

  get part(): Part {
    return this.options.part ?? 'cluster';
  }

  /** Whether this process calls the driver for an object. */
  callingProcess(placed: Placed): CallingProcess {
    const { node, manager } = this.options;
    return callingProcess(placed, { node, part: this.part, nodes: manager.informer(nodes).lister });
  }

  /**
   * Writes status fields; the node part writes only those that it reports.
   * @param also further writes of the transaction
   * @throws StatusError Aborted if the object changed meanwhile: read it again
   */
  async write(
    context: ReconcileContext,
    object: T,
    status: S,
    also?: (txn: Transaction) => Promise<void>,
  ): Promise<void> {
    const { kind, reported } = this.#of;
    const report = this.part === 'node' ? reportOf(status, reported) : status;
    if (Object.keys(report).length === 0) return;
    const update = report as unknown as StatusUpdate<T, F>;
    await writeStatus(context, kind, object, update, also);
  }

  condition(
    object: T,
    type: string,
    status: ConditionStatus,
    reason: Reason,
    message: string,
  ): { readonly conditions: readonly Condition[] } {
    const observedGeneration = object.metadata.generation;
    const next = { type, status, reason, message, observedGeneration };
    return { conditions: setCondition(object.conditions, next, this.now) };
  }

  /** The condition that reports the progress of provisioning. */
  made(
    object: T,
    status: ConditionStatus,
    reason: Reason,
    message: string,
  ): { readonly conditions: readonly Condition[] } {
    return this.condition(object, this.#of.madeCondition, status, reason, message);
  }

  /**
   * Reports the reason of a wait once. A change of the awaited object queues the key. @param more further fields to
   * write
   */
  async waitFor(
    request: ReconcileContext,
    object: T,
    waits: { readonly type: string; readonly reason: Reason; readonly message: string },
    more: Report | S = {},
  ): Promise<Result> {
    const { type, reason, message } = waits;
    const report = findCondition(object.conditions, type);
    const isReported = report?.message === message && report.reason === reason;
    if (!isReported || ('reason' in more && more.reason !== object.reason))
      await this.write(request, object, {
        ...more,
        ...this.condition(object, type, 'False', reason, message),
      } as unknown as S);
    return done();
  }

  /** Reports, in the node part, that the data is deleted. The cluster part then removes the finalizer. */
  async reportDeletion(context: ReconcileContext, object: T): Promise<Result> {
    const message = `node ${this.options.node} deleted its data`;
    const report = this.condition(object, deletedCondition, 'True', 'Deleted', message);
    await this.write(context, object, report as unknown as S);
    return done();
  }

  /** Resolves the secrets of a call with their present values. @throws DriverError */
  async resolve(
    object: T,
    named: CalledVolume,
    storageClass: StorageClass | undefined,
  ): Promise<ResolvedCall> {
    const { drivers, resolver } = this.options;
    const holder = holderOf(this.#of.kind, object);
    const call = await driverCall({ drivers, resolver, holder }, named, storageClass);
    const { parameters } = call;
    const resolved = resolver.resolve(parameters, holder);
    const { driver } = resolver.confidential(call.driver, parameters, resolved);
    return { driver, parameters, resolved };
  }

  /**
   * Checks that it is still this process that calls the driver.
   * @throws StatusError Aborted if the object has another owner since it was read
   */
  async requireOwned(seen: T, placeOf: (current: T) => Placed): Promise<void> {
    const { kind } = this.#of;
    const current = await this.options.store.get(kind, this.key(seen));
    requireCallHere(kind, seen, current, (found) => this.callingProcess(placeOf(found)));
  }

  /**
   * The operations of an object at its provider.
   * @param node the node of an attach or detach; none for a kind that is not attached
   */
  operations(object: T, node?: string): Operations {
    const { kind, controller } = this.#of;
    return operationsOf({ ...this.options, controller }, kind, object, node);
  }

  /**
   * Reports that the provider continues a call, and requeues without counting an attempt. An unchanged report is
   * renewed at most once a minute, with the later calls of the provider. It triggers no reconcile here. The id of the
   * operation is read from the records of the object, not from the report.
   */
  async reportInProgress(
    context: ReconcileContext,
    object: T,
    call: OperationKind,
    { pollAfterMs, calls }: Pending,
    node?: string,
  ): Promise<Result> {
    const { kind } = this.#of;
    const key = this.key(object);
    const message = await underWay(this.operations(object, node), call);
    const reported = callsReport(calls);
    const operation = { call, startedAt: this.now, outcome: 'Pending', message, nextTryAt: '' };
    const shown: DriverOperation = { ...operation, ...reported };
    return context.txn(async (txn) => {
      const current = await txn.get(kind, key);
      const last = current?.lastOperation;
      const isShown =
        last?.call === call &&
        last.outcome === shown.outcome &&
        last.message === message &&
        !isOutdated(last, reported);
      if (current?.metadata.uid === object.metadata.uid && !isShown)
        txn.updateStatus(kind, key, { lastOperation: shown } as unknown as StatusUpdate<T, F>);
      return pending(pollAfterMs);
    });
  }

  succeeded(call: string, startedAt: string): { readonly lastOperation: DriverOperation } {
    return {
      lastOperation: { call, startedAt, outcome: 'Succeeded', message: '', nextTryAt: '' },
    };
  }

  /** The report of a failed call. @param againMs delay until the retry; undefined if it is not retried */
  failed(
    call: string,
    startedAt: string,
    error: DriverError,
    againMs?: number,
  ): { readonly lastOperation: DriverOperation } {
    const nextTryAt = shownTime(this.options.clock, againMs);
    const { kind: outcome, message, calls } = error;
    const operation = { call, startedAt, outcome, message, nextTryAt };
    return { lastOperation: { ...operation, ...callsReport(calls) } };
  }

  /**
   * Reports the failed call of a provisioned object, and returns the result that retries it after a backoff of at least
   * `call.leastMs`.
   * @param more returns further fields to write, for the error and its report
   * @throws StatusError `thrown` if it is one; Aborted if the object changed meanwhile
   */
  async retried(
    request: ReconcileContext,
    object: T,
    call: { readonly call: string; readonly startedAt: string; readonly leastMs?: number },
    thrown: unknown,
    more: (error: DriverError, report: Report) => S | Report = () => ({}),
  ): Promise<Result> {
    const error = driverErrorOf(thrown);
    const delayMs = retryDelayMs(request, error, this.options, call.leastMs);
    const report = this.failed(call.call, call.startedAt, error, delayMs);
    await this.write(request, object, {
      ...report,
      ...more(error, report),
    } as unknown as S);
    return callAgain(error, delayMs);
  }

  /**
   * Decides the consequence of a failed provisioning call by the class of its error, with the fields to report. Writes
   * nothing.
   * @param rest `unknownMs`: the least delay before an unknown outcome is queried; `finalMs`: the reported delay until
   * a final failure is checked again
   */
  classified(
    request: ReconcileContext,
    object: T,
    { call, startedAt, error }: { call: string; startedAt: string; error: DriverError },
    rest: { readonly unknownMs: number; readonly finalMs: number | undefined },
  ): ClassifiedFailure {
    const attempts = (object.attempts ?? 0) + 1;
    const { policy } = this.options;
    const failure = classifyFailure(error, attempts, policy, !isDeleting(object));
    const { event, reason, message } = failure;
    const isUnknown = event === 'outcomeUnknown';
    const delayMs = retryDelayMs(request, error, this.options, isUnknown ? rest.unknownMs : 0);
    const againMs = isUnknown || event === 'failedForNow' ? delayMs : undefined;
    const report = {
      attempts,
      reason,
      ...this.failed(call, startedAt, error, againMs ?? rest.finalMs),
      ...this.made(object, 'False', reason, message),
    };
    return { ...failure, againMs, report };
  }

  /**
   * Whether the error of a call for an object ends its deletion without the provider: a user ended the wait, and the
   * credential or the right may never return. Only the cluster's part decides it.
   */
  isAbandoned(object: T, { kind: outcome, message }: DriverError): boolean {
    if (this.part !== 'cluster' || !isDeleting(object)) return false;
    return isDeletionAbandoned(object) && isUnreadable({ outcome, message });
  }

  key(object: T): ObjectKey {
    return keyOf(object);
  }
}
