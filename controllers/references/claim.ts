import { keyString, type ObjectKey } from 'kedge/objects';
import type { Instance, VolumeMount } from '@kedge/api/kinds';
import { referredKey } from './object-reference.js';

/** A key with a namespace. */
export type NamespacedKey = Required<ObjectKey>;

/**
 * The volume of a claim: a bare name in the service's namespace, or `<name>.<namespace>.svc` (specification section
 * 2.4). Undefined for a malformed claim.
 */
export function claimedVolume(claim: string, namespace: string): NamespacedKey | undefined {
  return referredKey(claim, namespace);
}

/** Objects never change: placements ask for the volumes of an instance many times. */
const mounted = new WeakMap<Instance, readonly string[]>();

/** Volumes that an instance mounts, as `<namespace>/<name>`. */
export function mountedVolumes(instance: Instance): readonly string[] {
  const known = mounted.get(instance);
  if (known) return known;
  const { namespace, service, ordinal, template } = instance;
  const keys = (template.volumes ?? []).flatMap((mount) => {
    const key = volumeOfMount(mount, namespace, service, ordinal);
    return key ? [keyString(key)] : [];
  });
  mounted.set(instance, keys);
  return keys;
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

/** Name of the volume of a claimTemplate for a replica (specification section 2.4). */
export function templateVolumeName(mount: string, service: string, ordinal: number): string {
  return `${mount}-${service}-${ordinal}`;
}

/** The part before the ordinal in volume names of a claimTemplate, with the namespace. */
export function templateStem(namespace: string, mount: string, service: string): string {
  return `${namespace}/${mount}-${service}`;
}
