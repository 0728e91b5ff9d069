/** Handles the error of a write that is not needed on a full disk. @throws the error if the disk is not full */
export function ignoreFullDisk(error: unknown): void {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
}
