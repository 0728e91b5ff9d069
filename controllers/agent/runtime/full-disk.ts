/** Ignores the error of an unnecessary write on a full disk. @throws the error unless the disk or a quota is full */
export function ignoreFullDisk(error: unknown): void {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
}
