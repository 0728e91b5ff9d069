import { type CallContext, DriverError, type ProvisionResult } from '@kedge/driver-sdk';
import { bytesOf, gibOf } from '@kedge/driver-sdk/provider';
import type { Caller, CloudVolume } from './api.js';
import { tokenOf } from './parameters.js';

const sizeMin = 10;
const sizeMax = 10_240;

/** Returns the context of the provider calls for a driver call. */
export function callerOf({ parameters, volume, signal }: CallContext): Caller {
  return { token: tokenOf(parameters), about: volume.uid, signal };
}

/** Converts a volume to the result of provision. */
export function provisioned({ id, sizeGib }: CloudVolume): ProvisionResult {
  return { handle: id, sizeBytes: bytesOf(sizeGib) };
}

/** Returns a requested size in GiB, rounded up, at least 10. @throws DriverError InvalidParameters above the maximum */
export function requireSize(sizeBytes: bigint): number {
  const size = gibOf(sizeBytes, sizeMin);
  if (size <= sizeMax) return size;
  throw new DriverError(
    'InvalidParameters',
    `${sizeBytes} bytes are more than the ${sizeMax} GiB of the largest volume; request a smaller size`,
  );
}

/** Whether an error is a DriverError of a kind. */
export function isKind(error: unknown, kind: DriverError['kind']): boolean {
  return error instanceof DriverError && error.kind === kind;
}
