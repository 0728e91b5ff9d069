import { failedPrecondition, type FieldViolation, jsonEqual } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import type { Driver } from '@kedge/driver-sdk';
import { services } from '../service/kind.js';
import { volumes } from '../volume/kind.js';
import type { StorageClass } from './kind.js';
import { classBasis, processViolations, shapeViolations } from './volume-shape.js';

/** The fields of a class that the rules of its volumes read. */
function validatedFields({ driver, parameters, reclaimPolicy }: StorageClass): readonly unknown[] {
  return [driver, parameters ?? {}, reclaimPolicy ?? 'retain'];
}

/**
 * The objects that a new or changed class would break: volumes that name it (also those of an earlier class of its
 * name) and claimTemplates of services (rules 4, 6, 7 and 8). An edit is refused only for objects that were valid
 * before.
 */
export async function dependentViolations(
  context: AdmissionContext,
  object: StorageClass,
  before: StorageClass | undefined,
  driver: Driver,
): Promise<readonly FieldViolation[]> {
  if (before && jsonEqual(validatedFields(object), validatedFields(before))) return [];
  const basis = classBasis(object, driver);
  const earlier = before && classBasis(before, driver);
  const { name } = object;
  const violations: FieldViolation[] = [];
  const blame = (whose: string, found: readonly FieldViolation[]): void => {
    for (const { field, description } of found)
      violations.push({
        field: field.startsWith('parameters.')
          ? field
          : field === 'reclaimPolicy'
            ? field
            : 'driver',
        description: `${whose} uses this class and would become invalid: ${field}: ${description}`,
      });
  };
  for (const volume of await context.lookupBy(volumes, 'storageClass', name)) {
    const whose = `volume "${volume.namespace}/${volume.name}"`;
    if (earlier && shapeViolations(volume, earlier).length > 0) continue;
    blame(whose, shapeViolations(volume, basis));
    if (before) continue;
    const key = `${volume.namespace}/${volume.name}`;
    for (const service of await context.lookupBy(services, 'claimedVolume', key))
      blame(
        `${whose} of service "${service.namespace}/${service.name}"`,
        processViolations(service, driver.name, 'storageClassName'),
      );
  }
  for (const service of await context.lookupBy(services, 'storageClass', name)) {
    const whose = `service "${service.namespace}/${service.name}"`;
    for (const { claimTemplate } of service.volumes ?? []) {
      if (claimTemplate?.storageClassName !== name) continue;
      if (earlier && shapeViolations(claimTemplate, earlier).length > 0) continue;
      blame(whose, shapeViolations(claimTemplate, basis));
      if (!before) blame(whose, processViolations(service, driver.name, 'storageClassName'));
    }
  }
  return violations.slice(0, shownMax);
}

/** Maximum of reported violations. */
const shownMax = 10;

/** Checks that no volume and no claimTemplate names a class. @throws StatusError FailedPrecondition (InUse) */
export async function requireUnusedClass(
  context: AdmissionContext,
  { name }: Pick<StorageClass, 'name'>,
): Promise<void> {
  const [volume] = await context.lookupBy(volumes, 'storageClass', name);
  const [service] = volume ? [] : await context.lookupBy(services, 'storageClass', name);
  const user = volume ?? service;
  if (!user) return;
  const what = `${volume ? 'volume' : 'a claimTemplate of service'} "${user.namespace}/${user.name}"`;
  const way = volume
    ? 'delete its volumes first, or force-delete the class (kedge delete --force): provisioned volumes keep their captured parameters, and others are not provisioned until the class exists again'
    : 'delete the service first, or force-delete the class (kedge delete --force): no volumes of the service are provisioned until the class exists again';
  throw failedPrecondition('InUse', `storage class "${name}" is used by ${what}; ${way}`, {
    kind: 'StorageClass',
    name,
  });
}
