import { type BackupDescription, verifyBackup } from 'kedge';
import { type KeysAtHand, SealedCheck } from './sealed-check.js';

/** A backup that is whole. */
export interface CheckedBackup extends BackupDescription {
  /** Values that the key-encryption key at hand opened; undefined where there is no key. */
  readonly openedValues: number | undefined;
}

/**
 * Reads a whole backup. Where a key is at hand, every sealed value is opened with it, too.
 * @throws StatusError DataLoss (BackupDamaged), FailedPrecondition (BackupFormat, KeyMismatch)
 */
export async function checkBackup(path: string, keys: KeysAtHand): Promise<CheckedBackup> {
  if (keys.type === 'absent') return { ...(await verifyBackup(path)), openedValues: undefined };
  const check = new SealedCheck(path, keys);
  const description = await verifyBackup(path, (content) => check.demand(content));
  return { ...description, openedValues: check.values };
}
