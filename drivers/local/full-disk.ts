import { DriverError, type HostFiles, isDiskFull } from '@kedge/driver-sdk';

/** A disk with less free space counts as full. */
const leastBytes = 1024 * 1024;

/** Whether a disk is full, by its free space and free inodes: the errors of programs differ. */
async function isFull(files: HostFiles, directory: string): Promise<boolean> {
  const room = await files.room(directory);
  return room.bytes < leastBytes || room.files === 0;
}

function saysFull(error: unknown): boolean {
  if (isDiskFull(error)) return true;
  return error instanceof DriverError && error.kind === 'QuotaExceeded';
}

/**
 * Runs work on a disk; a failure on a full disk is reported as such, with the remedy.
 * @throws DriverError QuotaExceeded; else what `work` throws
 */
export async function reportFullDisk<T>(
  files: HostFiles,
  directory: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reported =
      error instanceof DriverError && !['Unavailable', 'Internal'].includes(error.kind);
    const full = saysFull(error) || (!reported && (await isFull(files, directory)));
    if (!full) throw error;
    throw new DriverError(
      'QuotaExceeded',
      `the disk of storage root ${directory} is full: free space on it, or delete volumes and snapshots (${DriverError.from(error).message})`,
      { cause: error },
    );
  }
}
