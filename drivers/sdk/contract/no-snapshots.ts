import type { Driver } from './driver.js';
import { DriverError } from '../errors/errors.js';

/**
 * Returns the snapshot calls for a driver without the capability `snapshots`. They reject with Unsupported; only
 * deleteSnapshot succeeds.
 */
export function noSnapshots(
  driver: string,
): Pick<Driver, 'createSnapshot' | 'observeSnapshot' | 'deleteSnapshot' | 'restore'> {
  const refuse = (): Promise<never> =>
    Promise.reject(new DriverError('Unsupported', `driver ${driver} does not support snapshots`));
  return {
    createSnapshot: refuse,
    observeSnapshot: refuse,
    // None can exist, so none is left.
    deleteSnapshot: () => Promise.resolve(),
    restore: refuse,
  };
}
