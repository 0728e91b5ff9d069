import { DriverError } from '@kedge/driver-sdk';
import { callersWith, gibOf } from '@kedge/driver-sdk/provider';
import { tokenOf } from './parameters.js';

const sizeGibMax = 16_384;

/** Functions that make the context of the provider calls for a driver call, and for a call for a class. */
export const { callerOf, classCallerOf } = callersWith(tokenOf);

/** Returns a requested size in GiB, rounded up. @throws DriverError InvalidParameters above the provider's maximum */
export function requireSize(sizeBytes: bigint): number {
  const gib = gibOf(sizeBytes);
  if (gib <= sizeGibMax) return gib;
  throw new DriverError(
    'InvalidParameters',
    `${sizeBytes} bytes are more than the ${sizeGibMax} GiB of the largest volume; request a smaller size`,
  );
}
