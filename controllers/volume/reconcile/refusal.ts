import { DriverError, nodeTopologyKey, type Operations } from '@kedge/driver-sdk';
import { classMissing, leftElsewhere } from '../../messages/storage.js';
import type { Volume } from '../kind.js';
import {
  type Answer,
  hasNoCredential,
  isAboutCaller,
  isAboutCredential,
} from '../../provisioned/failure.js';
import { hasOpenCall, hasOpenDeletion } from '../../provisioned/operations.js';
import { isDeletionRefused } from '../states/deletion-report.js';
import { effectivePolicy, mayHaveBeenUsed, type VolumeSituation } from '../states/plan.js';

/** The answer of a driver that refuses the parameters of a deletion. */
export interface Refusal {
  readonly error: DriverError;
  /** Whether the class names another place now, and something may be where the refused parameters say. */
  readonly isElsewhere: boolean;
}

/**
 * The error with which the deletion of a volume without a handle ends although the provider rejects the credential, or
 * there is none: the policy of the volume itself is `retain`. A rejected credential may never be accepted again, such
 * as that of a closed account. Without one, a metadata service may only be silent for a while: then the deletion ends
 * only if nothing of the volume can be at the provider. Undefined if the deletion is repeated.
 */
export async function leftWith(
  { handle = '', reclaimPolicy }: Volume,
  thrown: unknown,
  operations: Operations,
): Promise<DriverError | undefined> {
  if (!(thrown instanceof DriverError) || handle !== '' || reclaimPolicy !== 'retain')
    return undefined;
  const { kind, message } = thrown;
  if (kind === 'CredentialsRejected' || kind === 'PermissionDenied') return thrown;
  if (!hasNoCredential({ outcome: kind, message })) return undefined;
  return (await hasOpenCall({ handle }, operations)) ? undefined : thrown;
}

/**
 * Whether an earlier call may still delete the data of a volume, although the last one was refused. A deletion that the
 * provider accepted is carried out regardless of later refusals: the policy can't be changed before its end is known.
 * After other refusals it can: InUse shows that the volume is there, and refused parameters may never be corrected.
 * @param isOpen whether an earlier call was open before the last one
 */
export async function mayStillDelete(
  volume: Volume,
  isOpen: boolean,
  answer: Answer,
  operations: Operations,
): Promise<boolean> {
  if (!isAboutCaller(answer)) return isOpen;
  // Remains of an attempt have no data that a policy could keep.
  if ((volume.handle ?? '') === '' && !mayHaveBeenUsed(volume))
    return isOpen && !isAboutCredential(answer);
  return (
    isOpen ||
    (isAboutCredential(answer) ? hasOpenCall(volume, operations) : hasOpenDeletion(operations))
  );
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
  return (
    reclaimPolicy === 'retain' || (handle === '' && !(await hasOpenCall({ handle }, operations)))
  );
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
