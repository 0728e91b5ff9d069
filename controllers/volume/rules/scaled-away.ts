import { isDeleting } from 'kedge';
import { templateVolumeName } from '../../references/claim.js';
import type { Service } from '../../service/kind.js';
import { replicaName, type Volume } from '../kind.js';

/**
 * The reason why a volume is kept after its replica was scaled away, with the remedy. Undefined if its replica is
 * wanted, it is deleted automatically, or its service is gone. Pure.
 */
export function keptScaledAway(volume: Volume, owner: Service | undefined): string | undefined {
  const replica = replicaName(volume);
  if (!replica || !owner || isDeleting(owner) || isDeleting(volume)) return undefined;
  const { ordinal } = replica;
  const scale = owner.scale ?? 1;
  const made = owner.volumes?.find(
    ({ claimTemplate, name }) =>
      claimTemplate && templateVolumeName(name, owner.name, ordinal) === volume.name,
  );
  if (ordinal < scale || !made?.claimTemplate) return undefined;
  if (made.claimTemplate.retention?.whenScaled === 'delete') return undefined;
  const { namespace, name } = volume;
  return `it belongs to replica ${ordinal} of service ${owner.name}, which has scale ${scale}, and is kept because retention.whenScaled is retain: scale the service to ${ordinal + 1} or more to use its data again, or: kedge delete volume ${name} -n ${namespace}`;
}
