import { type BackupDescription, verifyBackup } from 'kedge';
import { type KeysAtHand, SealedCheck } from './sealed-check.js';

/** The description of a backup that was read completely. */
export interface CheckedBackup extends BackupDescription {
  /** The number of values that the given key-encryption key opened; undefined without a key. */
  readonly openedValues: number | undefined;
}

/**
 * Reads an entire backup. Given a key, also opens every sealed value with it.
 * @throws StatusError DataLoss (BackupDamaged), FailedPrecondition (BackupFormat, BackupUnreadable, KeyMismatch)
 */
export async function checkBackup(path: string, keys: KeysAtHand): Promise<CheckedBackup> {
  if (keys.type === 'absent') return { ...(await verifyBackup(path)), openedValues: undefined };
  const check = new SealedCheck(path, keys);
  const description = await verifyBackup(path, (content) => check.require(content));
  return { ...description, openedValues: check.values };
}
