import { type CallContext, DriverError, type ProvisionResult } from '@kedge/driver-sdk';
import { bytesOf, gibOf } from '@kedge/driver-sdk/provider';
import type { Caller, CloudVolume } from './api.js';
import { tokenOf } from './parameters.js';

const sizeGibMax = 16_384;

/** Returns the context of the provider calls for a driver call. */
export function callerOf({ parameters, volume, signal }: CallContext): Caller {
  return { token: tokenOf(parameters), about: volume.uid, signal };
}

/** Converts a volume to the result of provision. */
export function provisioned({ id, sizeGib }: CloudVolume): ProvisionResult {
  return { handle: id, sizeBytes: bytesOf(sizeGib) };
}

/** Returns a requested size in GiB, rounded up. @throws DriverError InvalidParameters above the provider's maximum */
export function requireSize(sizeBytes: bigint): number {
  const gib = gibOf(sizeBytes);
  if (gib <= sizeGibMax) return gib;
  throw new DriverError(
    'InvalidParameters',
    `${sizeBytes} bytes are more than the ${sizeGibMax} GiB of the largest volume; request a smaller size`,
  );
}
