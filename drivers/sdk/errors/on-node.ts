import { DriverError } from './errors.js';

/**
 * Runs work on this node, and converts errors of its system.
 * @param what the work, for the message, such as `mount /data`
 * @throws DriverError of `work`; Unavailable for an error of the system; Internal for any other error
 */
export async function onNode<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isOfSystem =
      error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string';
    if (error instanceof DriverError || !isOfSystem) throw DriverError.from(error);
    throw new DriverError('Unavailable', `can't ${what}: ${error.message}`, { cause: error });
  }
}
