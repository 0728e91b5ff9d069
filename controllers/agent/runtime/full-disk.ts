import { isDiskFull } from '@kedge/driver-sdk';

/** Ignores the error of an unnecessary write on a full disk. @throws the error unless the disk or a quota is full */
export function ignoreFullDisk(error: unknown): void {
  if (!isDiskFull(error)) throw error;
}
