import { type Condition, findCondition, isDeleting } from 'kedge/objects';
import type { Instance, Snapshot, Volume, VolumeOperation } from '@kedge/api/kinds';
import { entryOf } from '../reasons/index.js';
import { isSettledStatus } from './settled-status.js';

/** A problem in the status of an object. */
export interface ReportedProblem {
  readonly reason: string;
  readonly message: string;
}

/**
 * The first unmet condition with a message. Ready comes first, because it summarizes the others. The others are used
 * if Ready is absent (for example while no node fits), True or without a message.
 */
export function unmetCondition(
  conditions: readonly (Condition | undefined)[] = [],
): ReportedProblem | undefined {
  const all = conditions.filter((condition) => condition !== undefined);
  const report = [findCondition(all, 'Ready'), ...all];
  return report.find((c) => c !== undefined && c.status !== 'True' && c.message !== '');
}

/** Conditions that can be unmet while an instance is ready. */
const besideReady: readonly string[] = ['FilesReady', 'LimitsEnforced'];

/** Returns a condition that can be unmet while an instance is ready, and is; undefined if there is none. */
export function degradedCondition(
  conditions: readonly Condition[] = [],
): ReportedProblem | undefined {
  return conditions.find(({ type, status }) => besideReady.includes(type) && status === 'False');
}

/**
 * Returns the problem of an instance whose workload is being restarted: the end of its last run, which is more specific
 * than the reason Starting. Undefined for other instances.
 */
export function crashOf({
  conditions,
  exitCode,
  exitReason,
  backoff,
}: Instance): ReportedProblem | undefined {
  const ready = findCondition(conditions, 'Ready');
  if (ready?.reason !== 'Starting') return undefined;
  const containers = findCondition(conditions, 'ContainersReady');
  if (containers?.status === 'False') return containers;
  if (!backoff?.crashes || exitCode === undefined) return undefined;
  if (exitReason === 'OOMKilled')
    return {
      reason: exitReason,
      message: `exceeded its memory limit before (OOMKilled, exit code ${exitCode}); ${ready.message}`,
    };
  return { reason: 'Failed', message: `ended with exit code ${exitCode} before; ${ready.message}` };
}

/** Conditions that are a problem while they hold. */
const troubleIfTrue: readonly string[] = ['Resizing', 'FileSystemResizePending', 'SpaceLow'];

/** The unmet reason of a usable object: a change in progress, or a rejected request. */
function unmetReason({ status, conditions = [] }: Volume | Snapshot): ReportedProblem | undefined {
  return conditions.find(({ type, status: holds, reason, message }) => {
    if (message === '' || entryOf(reason)?.type !== 'unmet') return false;
    // The reason of a release stays in the status after the volume is claimed again.
    if (reason === 'OwnerGone') return status === 'Released';
    const trouble = troubleIfTrue.includes(type) ? 'True' : 'False';
    return holds === trouble || (type === 'Bound' && reason === 'WaitsForNode');
  });
}

function failedCall(operation: VolumeOperation | undefined): ReportedProblem | undefined {
  if (!operation || operation.message === '') return undefined;
  if (operation.outcome === 'Succeeded' || operation.outcome === 'Pending') return undefined;
  return { reason: operation.outcome, message: operation.message };
}

/** The calls for an attachment that is requested or ends, by its state. */
const callsOfAttachment: Readonly<Partial<Record<string, readonly string[]>>> = {
  Reserved: ['attach', 'mount'],
  Detaching: ['detach'],
};

/**
 * The error of the last driver call for an attachment that is requested or ends; undefined if the call did not fail.
 */
function failedAttachment(object: Volume | Snapshot): ReportedProblem | undefined {
  const { lastOperation } = object;
  const { attachments = [] } = 'attachments' in object ? object : {};
  const call = lastOperation?.call ?? '';
  return attachments.some(({ state }) => callsOfAttachment[state]?.includes(call))
    ? failedCall(lastOperation)
    : undefined;
}

/**
 * The cause in the status of a volume or snapshot: its failure, else its refused storage root, else the error of its
 * last driver call, else an unmet condition. An object with a settled status has only the failed call of an attachment,
 * else an unmet condition. An object that is being deleted reports the wait of its deletion first. Undefined without a
 * problem.
 */
export function problemOfStorage(object: Volume | Snapshot): ReportedProblem | undefined {
  const { status, conditions, failureMessage = '', lastOperation } = object;
  const root = unmetCondition([findCondition(conditions, 'StorageRootReady')]);
  const deletion = findCondition(conditions, 'Deleted');
  const failure =
    status === 'Failed' && failureMessage !== ''
      ? { reason: object.reason || 'Failed', message: failureMessage }
      : undefined;
  if (isDeleting(object))
    return (
      unmetCondition([deletion]) ??
      failure ??
      root ??
      failedCall(lastOperation) ??
      unmetReason(object)
    );
  if (isSettledStatus(status)) return failedAttachment(object) ?? unmetReason(object);
  if (failure) return failure;
  const message = { reason: object.reason || 'Failed', message: failureMessage };
  return (
    root ??
    failedCall(lastOperation) ??
    unmetCondition(conditions) ??
    (failureMessage === '' ? undefined : message)
  );
}
