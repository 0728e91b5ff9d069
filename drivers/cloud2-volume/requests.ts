import { type CallContext, DriverError } from '@kedge/driver-sdk';
import { callersWith, gibOf, isKind } from '@kedge/driver-sdk/provider';
import type { Cloud2Api } from './api.js';
import { tokenOf } from './parameters.js';

const sizeMin = 10;
const sizeMax = 10_240;

/** Functions that make the context of the provider calls for a driver call, and for a call for a class. */
export const { callerOf, classCallerOf } = callersWith(tokenOf);

/** Returns a requested size in GiB, rounded up, at least 10. @throws DriverError InvalidParameters above the maximum */
export function requireSize(sizeBytes: bigint): number {
  const size = gibOf(sizeBytes, sizeMin);
  if (size <= sizeMax) return size;
  throw new DriverError(
    'InvalidParameters',
    `${sizeBytes} bytes are more than the ${sizeMax} GiB of the largest volume; request a smaller size`,
  );
}

/** Deletes a volume. A volume that does not exist counts as deleted. */
export async function ensureDeleted(
  api: Cloud2Api,
  request: CallContext,
  id: string,
): Promise<void> {
  await api.deleteVolume(callerOf(request), id).catch((error: unknown) => {
    if (!isKind(error, 'NotFound')) throw error;
  });
}
