import { type CallContext, DriverError, type ProvisionResult } from '@kedge/driver-sdk';
import { bytesOf, gibOf } from '@kedge/driver-sdk/provider';
import type { Caller, CloudVolume } from './api.js';
import { tokenOf } from './parameters.js';

const sizeGibMax = 16_384;

/** The caller of a driver call about a volume. */
export function callerOf({ parameters, volume, signal }: CallContext): Caller {
  return { token: tokenOf(parameters), about: volume.uid, signal };
}

/** A volume as the answer of provision. */
export function provisioned({ id, sizeGib }: CloudVolume): ProvisionResult {
  return { handle: id, sizeBytes: bytesOf(sizeGib) };
}

/** The size of a new volume in GiB. @throws DriverError InvalidParameters above the provider's maximum */
export function requireSize(sizeBytes: bigint): number {
  const gib = gibOf(sizeBytes);
  if (gib <= sizeGibMax) return gib;
  throw new DriverError(
    'InvalidParameters',
    `${sizeBytes} bytes are more than the ${sizeGibMax} GiB of the largest volume; request a smaller size`,
  );
}
