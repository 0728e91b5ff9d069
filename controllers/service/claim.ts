import { keyString, type ObjectKey } from 'kedge/objects';
import type { Instance } from '../instance/kind.js';
import { referredKey } from '../volume/kind.js';
import { templateVolumeName, type VolumeMount } from './kind.js';

/** A key with a namespace. */
export type NamespacedKey = Required<ObjectKey>;

/**
 * The volume of a claim: a bare name in the service's namespace, or `<name>.<namespace>.svc` (specification section
 * 2.4). Undefined for a malformed claim.
 */
export function claimedVolume(claim: string, namespace: string): NamespacedKey | undefined {
  return referredKey(claim, namespace);
}

/** Volumes that an instance mounts, as `<namespace>/<name>`. */
export function mountedVolumes({
  namespace,
  service,
  ordinal,
  template,
}: Instance): readonly string[] {
  return (template.volumes ?? []).flatMap((mount) => {
    const key = volumeOfMount(mount, namespace, service, ordinal);
    return key ? [keyString(key)] : [];
  });
}

/** The volume that an instance mounts for an entry. Undefined for a malformed claim. */
export function volumeOfMount(
  mount: VolumeMount,
  namespace: string,
  service: string,
  ordinal: number,
): NamespacedKey | undefined {
  if (mount.claim) return claimedVolume(mount.claim.name, namespace);
  return { namespace, name: templateVolumeName(mount.name, service, ordinal) };
}
