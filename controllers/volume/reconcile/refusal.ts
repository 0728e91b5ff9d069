import { DriverError, nodeTopologyKey, type Operations } from '@kedge/driver-sdk';
import { classMissing, leftElsewhere } from '../../messages/storage.js';
import type { Volume } from '../kind.js';
import { isUnsent } from '../../provisioned/failure.js';
import { isDeletionRefused } from '../states/deletion-report.js';
import { effectivePolicy, type VolumeSituation } from '../states/plan.js';
import { isCreationOpen } from './earlier-attempt.js';

/** The answer of a driver that refuses the parameters of a deletion. */
export interface Refusal {
  readonly error: DriverError;
  /** Whether the class names another place now, and something may be where the refused parameters say. */
  readonly isElsewhere: boolean;
}

/**
 * Whether the deletion of a volume without a handle ends although the provider rejects the credential, or there is none:
 * the policy of the volume itself is `retain`. The credential may never be accepted again, such as that of a closed
 * account.
 */
export function isLeft(
  { handle = '', reclaimPolicy }: Volume,
  thrown: unknown,
): thrown is DriverError {
  const rejected: readonly string[] = ['CredentialsRejected', 'PermissionDenied'];
  if (!(thrown instanceof DriverError)) return false;
  const { kind, message } = thrown;
  if (!rejected.includes(kind) && !isUnsent({ outcome: kind, message })) return false;
  return handle === '' && reclaimPolicy === 'retain';
}

/** Whether something may be at the provider of a volume without a handle: it was found, or its creation is open. */
export async function mayBeThere(operations: Operations): Promise<boolean> {
  return (await operations.get('delete')) !== undefined || isCreationOpen(operations);
}

/**
 * Whether the reclaim policy permits the removal of a volume, whose parameters the driver refuses, without a deletion.
 * If something of it may be at the provider, the policy of the volume itself must permit it: the policy of a class does
 * not decide that something is left there.
 */
export async function isRetained(
  { volume, storageClass }: VolumeSituation,
  operations: Operations,
): Promise<boolean> {
  const { handle = '', reclaimPolicy } = volume;
  if (effectivePolicy(volume, storageClass) !== 'retain') return false;
  return reclaimPolicy === 'retain' || (handle === '' && !(await mayBeThere(operations)));
}

/** Whether the driver refused the parameters of the last deletion call since the request for it. */
export function isParametersRefused(volume: Volume): boolean {
  return isDeletionRefused(volume) && volume.lastOperation?.outcome === 'InvalidParameters';
}

/** Whether a change of a volume is a new refusal as in {@link isParametersRefused}, by a node other than `here`. */
export function isNewRefusal(before: Volume, volume: Volume, here: string): boolean {
  const home = volume.topology?.[nodeTopologyKey];
  if (home === undefined || home === here) return false;
  return isParametersRefused(volume) && !isParametersRefused(before);
}

/**
 * The message of a failed deletion, with the remedies that end it.
 * @param refusal undefined if no driver was asked
 */
export function messageWithRemedy(
  { volume, storageClass }: VolumeSituation,
  error: DriverError,
  refusal: Refusal | undefined,
): string {
  const { storageClassName, handle = '', neverUsed } = volume;
  const { message } = error;
  if (error.kind !== 'InvalidParameters') return message;
  const retain = 'set reclaimPolicy to retain to remove the object without a deletion';
  // The plan of a used volume reads the policy before any call.
  if (handle !== '') return refusal || neverUsed !== true ? `${message}; or ${retain}` : message;
  if (refusal?.isElsewhere) return `${message}; ${leftElsewhere.format()}; ${retain}`;
  if (!storageClass)
    return `${message}; its ${classMissing.format({ storageClass: storageClassName })} any more: create it again with the same driver and parameters, and the deletion continues${refusal ? `, or ${retain}` : ''}`;
  if (!refusal) return message;
  return `${message}; correct the parameters of storage class "${storageClassName}" or of the volume, and the deletion continues, or ${retain}`;
}
