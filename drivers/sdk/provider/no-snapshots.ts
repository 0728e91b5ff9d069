import type { Driver } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';

/** The snapshot calls of a driver without snapshots, which its capabilities declare, so that they are not made. */
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
