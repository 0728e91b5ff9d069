import { createHash } from 'node:crypto';
import type { VolumeIdentity } from '../contract/driver.js';

/** Matches uids that can be a part of a name unchanged: lower case, and at most 48 characters. */
const plain = /^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/;

/**
 * Returns a provider's name for the volume or snapshot with a uid: at most 64 characters of a to z, 0 to 9 and `-`,
 * the first one a letter.
 */
export function providerName(uid: string): string {
  if (plain.test(uid) && !uid.startsWith('h-')) return `kedge-${uid}`;
  return `kedge-h-${createHash('sha256').update(uid).digest('hex').slice(0, 40)}`;
}

/** The name of a volume at a provider: {@link providerName}, or the name with which it was imported. */
export function volumeName({ uid, importedAs }: VolumeIdentity): string {
  return importedAs ?? providerName(uid);
}
