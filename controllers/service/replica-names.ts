import { failedPrecondition, parseQuantity } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import { replicaName, type Volume, volumes } from '../volume/kind.js';
import { templateStem } from '../references/claim.js';
import type { ClaimTemplate, Service } from './kind.js';

/** Names become DNS labels and directory names. */
export const nameMax = 63;

/**
 * Checks that the names `<volume>-<service>-<ordinal>` of the replicas are free, or of volumes of the service that fit
 * its claimTemplate. A volume of another owner is never adopted.
 * @throws StatusError FailedPrecondition (NameTaken, VolumeDiffers)
 */
export async function requireFreeNames(context: AdmissionContext, service: Service): Promise<void> {
  const owner = `${service.namespace}/${service.name}`;
  const status = ['ownerService'] as const;
  for (const mount of service.volumes ?? []) {
    if (!mount.claimTemplate) continue;
    const stem = templateStem(service.namespace, mount.name, service.name);
    for (const taken of await context.lookupBy(volumes, 'replicaStem', stem, { status })) {
      const { name } = taken;
      const { ordinal = 0 } = replicaName(taken) ?? {};
      if (ordinal >= (service.scale ?? 1)) continue;
      if (taken.ownerService === owner) {
        requireFittingVolume(owner, mount.claimTemplate, taken);
        continue;
      }
      const holder = taken.ownerService ? `service "${taken.ownerService}"` : 'a user';
      throw failedPrecondition(
        'NameTaken',
        `volume "${service.namespace}/${name}" of replica ${ordinal} of service "${owner}" already exists and belongs to ${holder}; rename the mount or the service`,
        { kind: 'Volume', namespace: service.namespace, name },
      );
    }
  }
}

/**
 * Checks that a retained volume fits the claimTemplate that adopts it (V26): the same class and access mode, and at
 * least the requested size.
 * @throws StatusError FailedPrecondition (VolumeDiffers)
 */
function requireFittingVolume(
  owner: string,
  template: ClaimTemplate,
  volume: Pick<Volume, 'name' | 'namespace' | 'storageClassName' | 'accessMode' | 'size'>,
): void {
  const { name, namespace, storageClassName, accessMode, size } = volume;
  const smaller = (parseQuantity(size) ?? 0n) < (parseQuantity(template.size) ?? 0n);
  const differs =
    storageClassName !== template.storageClassName
      ? `its class is "${storageClassName}"`
      : accessMode !== template.accessMode
        ? `its access mode is ${accessMode}`
        : smaller
          ? `its size is ${size}`
          : undefined;
  if (differs === undefined) return;
  const remedy = smaller
    ? `kedge volume resize ${name} ${template.size} -n ${namespace}`
    : 'delete that volume first';
  throw failedPrecondition(
    'VolumeDiffers',
    `volume "${namespace}/${name}" of service "${owner}" already exists and ${differs}, which differs from claimTemplate; ${remedy}, or restore the previous claimTemplate`,
    { kind: 'Volume', namespace, name },
  );
}
