import { createHash } from 'node:crypto';
import type { VolumeIdentity } from '@kedge/driver-sdk';

/** Matches uids that can be a part of a name unchanged: lower case, and at most 48 characters. */
const plain = /^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/;

/** Returns the provider's name for the volume with a uid: at most 64 characters, unique in the project. */
export function providerName(uid: string): string {
  if (plain.test(uid) && !uid.startsWith('h-')) return `kedge-${uid}`;
  return `kedge-h-${createHash('sha256').update(uid).digest('hex').slice(0, 40)}`;
}

/** The name of a volume at the provider. */
export function nameOf({ uid, importedAs }: VolumeIdentity): string {
  return importedAs ?? providerName(uid);
}

/** Keys of the labels of a volume. */
export const labelKeys = { uid: 'svc.io/volume-id', cluster: 'svc.io/cluster-id' } as const;

/** Converts a text to a valid label value: at most 63 characters, with a letter or digit at both ends. */
export function labelValue(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, 63)
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
}
