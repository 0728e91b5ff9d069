import { failedPrecondition, type FieldViolation, isDeleting } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import { services } from '../../service/kind.js';
import { replicaName, type Volume } from '../kind.js';
import { processViolations } from '../../storage-class/index.js';

/** The violations of rules 3 and 7 by services that already claim a new or changed volume. */
export async function claimViolations(
  context: AdmissionContext,
  volume: Volume,
  driver: string,
): Promise<readonly FieldViolation[]> {
  const key = `${volume.namespace}/${volume.name}`;
  const violations: FieldViolation[] = [];
  for (const service of await context.lookupBy(services, 'claimedVolume', key)) {
    if (isDeleting(service)) continue;
    const whose = `service "${service.namespace}/${service.name}" claims this volume`;
    const scale = service.scale ?? 1;
    if (volume.accessMode === 'ReadWriteOnce' && scale > 1)
      violations.push({
        field: 'accessMode',
        description: `${whose} at scale ${scale}, and ReadWriteOnce permits only scale 1; scale the service down first`,
      });
    for (const { field, description } of processViolations(service, driver, 'storageClassName'))
      violations.push({ field, description: `${whose}: ${description}` });
  }
  return violations;
}

/**
 * Rejects a volume name that a service reserves for its replicas.
 * @throws StatusError FailedPrecondition (NameTaken)
 */
export async function requireUnreservedName(
  context: AdmissionContext,
  { namespace, name }: Volume,
): Promise<void> {
  const replica = replicaName({ namespace, name });
  if (!replica) return;
  const owners = await context.lookupBy(services, 'templateStem', replica.stem);
  const owner = owners.find((s) => !isDeleting(s) && replica.ordinal < (s.scale ?? 1));
  if (!owner) return;
  throw failedPrecondition(
    'NameTaken',
    `volume "${namespace}/${name}" is reserved for replica ${replica.ordinal} by a claimTemplate of service "${owner.namespace}/${owner.name}"; choose another name`,
    { kind: 'Volume', namespace, name },
  );
}
