import type { FieldViolation } from 'kedge';
import type { Driver, Parameters } from '@kedge/driver-sdk';
import { mergedParameters } from '../provisioned/credentials.js';
import type { Service } from '../service/kind.js';
import type { ReclaimPolicy, Volume } from '../volume/kind.js';
import type { StorageClass } from './kind.js';

/** The only driver whose volumes services with runtime process may mount: the specification names it (rule 7). */
const processDriver = 'local-host';

/** The basis of validation of a volume: its class, or the captured values of a deleted one. */
export interface ShapeBasis {
  readonly driver: Driver;
  /** The basis in messages, such as `class "fast"`. */
  readonly label: string;
  readonly parameters: Parameters;
  readonly reclaimPolicy: ReclaimPolicy | undefined;
}

/** The basis from a class. */
export function classBasis(
  {
    name,
    parameters = {},
    reclaimPolicy,
  }: Pick<StorageClass, 'name' | 'parameters' | 'reclaimPolicy'>,
  driver: Driver,
): ShapeBasis {
  return { driver, label: `class "${name}"`, parameters, reclaimPolicy };
}

/** The fields of a volume that depend on class and driver; shared with claimTemplates. */
export type VolumeShape = Pick<Volume, 'size' | 'accessMode' | 'reclaimPolicy' | 'parameters'>;

/** The policy of a new volume: its own, else that of its class. */
export function policyOf(
  { reclaimPolicy }: Pick<Volume, 'reclaimPolicy'>,
  storageClass: Pick<ShapeBasis, 'reclaimPolicy'> | Pick<StorageClass, 'reclaimPolicy'> | undefined,
): ReclaimPolicy {
  return reclaimPolicy ?? storageClass?.reclaimPolicy ?? 'retain';
}

/**
 * Checks a volume or claimTemplate against its driver and basis: access mode, parameters, and no policy `delete` for
 * data of the user (specification rules 4, 6 and 8).
 */
export function shapeViolations(shape: VolumeShape, basis: ShapeBasis): readonly FieldViolation[] {
  const { driver, label } = basis;
  const violations: FieldViolation[] = [];
  const { accessModes, ownsData } = driver.capabilities();
  if (!accessModes.includes(shape.accessMode))
    violations.push({
      field: 'accessMode',
      description: `"${shape.accessMode}" is not supported by driver ${driver.name} of ${label}; use one of ${accessModes.join(', ')}`,
    });
  const parameters = mergedParameters(driver, basis.parameters, shape.parameters);
  for (const { key, description } of driver.validateParameters(parameters, { level: 'volume' }))
    violations.push({ field: `parameters.${key}`, description });
  if ((shape.reclaimPolicy ?? basis.reclaimPolicy) === 'delete' && !ownsData)
    violations.push({
      field: 'reclaimPolicy',
      description: `"delete" is not allowed for driver ${driver.name}: its data belongs to the user and is never deleted; use retain`,
    });
  return violations;
}

/** Rule 7, as an error of the service or of the volume that it mounts. */
export function processViolations(
  service: Pick<Service, 'runtime'>,
  driver: string,
  field: string,
): readonly FieldViolation[] {
  if (service.runtime !== 'process' || driver === processDriver) return [];
  return [
    {
      field,
      description: `driver ${driver} can't be used by runtime process, which may use only ${processDriver}; use a class of that driver or runtime container`,
    },
  ];
}
