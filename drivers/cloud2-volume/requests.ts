import { type CallContext, DriverError, type ProvisionResult } from '@kedge/driver-sdk';
import { bytesOf, gibOf } from '@kedge/driver-sdk/provider';
import type { Caller, CloudVolume } from './api.js';
import { tokenOf } from './parameters.js';

const sizeMin = 10;
const sizeMax = 10_240;

/** The caller of a driver call about a volume. */
export function callerOf({ parameters, volume, signal }: CallContext): Caller {
  return { token: tokenOf(parameters), about: volume.uid, signal };
}

/** A volume as the answer of provision. */
export function provisioned({ id, sizeGib }: CloudVolume): ProvisionResult {
  return { handle: id, sizeBytes: bytesOf(sizeGib) };
}

/** The size of a volume in the provider's unit. @throws DriverError InvalidParameters above its maximum */
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
