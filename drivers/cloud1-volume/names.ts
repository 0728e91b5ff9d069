import { createHash } from 'node:crypto';
import type { VolumeIdentity } from '@kedge/driver-sdk';

/** Matches uids that can be a part of a name unchanged: lower case, and at most 48 characters. */
const plain = /^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/;

/**
 * Returns the provider's name for the volume or snapshot with a uid: at most 64 characters of a to z, 0 to 9 and `-`,
 * the first one a letter. The link to the device on a node contains this name.
 */
export function providerName(uid: string): string {
  if (plain.test(uid) && !uid.startsWith('h-')) return `kedge-${uid}`;
  return `kedge-h-${createHash('sha256').update(uid).digest('hex').slice(0, 40)}`;
}

/** The name of a volume at the provider. */
export function nameOf({ uid, importedAs }: VolumeIdentity): string {
  return importedAs ?? providerName(uid);
}

/** The mark in a volume's description, by which an installation finds its volumes. */
export interface Mark {
  readonly cluster: string;
  readonly uid: string;
  /** Namespace and name of the object. */
  readonly createdFor?: string;
}

/** Returns the description of a volume. {@link markOf} reads it. */
export function described({ cluster, uid }: Mark, name: string): string {
  return `kedge cluster=${cluster} volume=${uid} name=${name}`;
}

/** Reads the mark in a volume's description; undefined if this driver did not create the volume. */
export function markOf(description: string): Mark | undefined {
  const form = /^kedge cluster=(\S*) volume=(\S+) name=(\S*)/;
  const [, cluster, uid, createdFor] = form.exec(description) ?? [];
  if (cluster === undefined || uid === undefined) return undefined;
  return { cluster, uid, ...(createdFor === undefined ? {} : { createdFor }) };
}
