import { failedPrecondition, type FieldViolation, invalid, notFound, parseQuantity } from 'kedge';
import type { AdmissionContext, AdmissionRules } from 'kedge/server';
import type { Driver, DriverRegistry } from '@kedge/driver-sdk';
import {
  snapshots,
  sourceSnapshot,
  type StorageClass,
  type Volume,
  volumes,
} from '../kinds/index.js';
import {
  maskParameters,
  referenceViolations,
  type Sealer,
  sealParameters,
  shownHandle,
  storedParameters,
} from '../secret/index.js';
import { classNamed, defaultClassName } from '../storage-class/index.js';

/** Held until nothing of the volume is left to take care of. */
export const volumeFinalizer = 'svc.io/volume';

/** What the rules of volumes look at. */
export interface VolumeRuleOptions {
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  /** [storage].defaultStorageClass */
  readonly defaultStorageClass: string | undefined;
}

/** What a class and a driver say about a volume's fields; shared with claimTemplates. */
export interface VolumeShape {
  readonly storageClassName: string;
  readonly size: string;
  readonly accessMode: Volume['accessMode'];
  readonly reclaimPolicy?: Volume['reclaimPolicy'];
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Rules that hold for a volume and for a claimTemplate alike (rules 4, 6 and 8). */
export function shapeViolations(
  shape: VolumeShape,
  storageClass: StorageClass,
  driver: Driver,
): readonly FieldViolation[] {
  const violations: FieldViolation[] = [];
  const { accessModes, ownsData } = driver.capabilities();
  if (!accessModes.includes(shape.accessMode))
    violations.push({
      field: 'accessMode',
      description: `"${shape.accessMode}" is not supported by driver ${driver.name} of class "${storageClass.name}"; use one of ${accessModes.join(', ')}`,
    });
  const parameters = { ...storageClass.parameters, ...shape.parameters };
  for (const { key, description } of driver.validateParameters(parameters, { level: 'volume' }))
    violations.push({ field: `parameters.${key}`, description });
  if ((shape.reclaimPolicy ?? storageClass.reclaimPolicy) === 'delete' && !ownsData)
    violations.push({
      field: 'reclaimPolicy',
      description: `"delete" is not allowed for driver ${driver.name}: its data belongs to the user and is never deleted; use retain`,
    });
  return violations;
}

function updateViolations(object: Volume, before: Volume, driver: Driver): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const now = parseQuantity(object.size) ?? 0n;
  const then = parseQuantity(before.size) ?? 0n;
  if (now < then)
    violations.push({
      field: 'size',
      description: `${JSON.stringify(object.size)} is less than ${JSON.stringify(before.size)}: a volume can only grow`,
    });
  if (object.storageClassName !== before.storageClassName)
    violations.push({
      field: 'storageClassName',
      description: `is immutable: it is "${before.storageClassName}"; make a new volume instead`,
    });
  if (before.handle) {
    const { sensitiveParameters } = driver.capabilities();
    const keys = new Set([
      ...Object.keys(object.parameters ?? {}),
      ...Object.keys(before.parameters ?? {}),
    ]);
    for (const key of keys) {
      if (sensitiveParameters.includes(key)) continue;
      if (object.parameters?.[key] === before.parameters?.[key]) continue;
      violations.push({
        field: `parameters.${key}`,
        description: 'is immutable once the volume is provisioned; only credentials may change',
      });
    }
  }
  return violations;
}

/** A source must be a snapshot of the same driver, and fit. Only a new volume has one to look for. */
async function sourceViolations(
  context: AdmissionContext,
  object: Volume,
  driver: Driver,
): Promise<readonly FieldViolation[]> {
  const key = sourceSnapshot(object);
  if (!key) return [];
  if (!(await context.can('snapshots', 'get', key.namespace)))
    return [
      {
        field: 'source.snapshot',
        description: `you may not read snapshots in namespace ${key.namespace}`,
      },
    ];
  const snapshot = await context.lookup(snapshots, key);
  if (!snapshot) throw notFound({ kind: 'Snapshot', ...key });
  const violations: FieldViolation[] = [];
  if (snapshot.driver && snapshot.driver !== driver.name)
    violations.push({
      field: 'storageClassName',
      description: `its driver is ${driver.name}, snapshot "${key.name}" is of ${snapshot.driver}; use a class of that driver`,
    });
  const least = BigInt(snapshot.restoreSize || '0');
  if ((parseQuantity(object.size) ?? 0n) < least)
    violations.push({
      field: 'size',
      description: `${JSON.stringify(object.size)} is less than snapshot "${key.name}" needs: ${least} bytes`,
    });
  return violations;
}

function demandGrowable(object: Volume, before: Volume, driver: Driver): void {
  if ((parseQuantity(object.size) ?? 0n) <= (parseQuantity(before.size) ?? 0n)) return;
  const { expand, onlineExpand } = driver.capabilities();
  const resource = { kind: 'Volume', namespace: object.namespace, name: object.name };
  if (!expand)
    throw failedPrecondition(
      'ExpandUnsupported',
      `driver ${driver.name} can't grow volumes`,
      resource,
    );
  if (before.status === 'Bound' && !onlineExpand)
    throw failedPrecondition(
      'OnlineExpandUnsupported',
      `driver ${driver.name} can't grow a volume while it is bound to ${before.boundClaim ?? 'an instance'}; scale its service down first`,
      resource,
    );
}

/** The class of a volume, filled in when none is named. @throws StatusError InvalidArgument. */
export async function classNameOf(
  context: AdmissionContext,
  named: string | undefined,
  configured: string | undefined,
): Promise<string> {
  if (named !== undefined && named !== '') return named;
  const found = await defaultClassName(context, configured);
  if (found !== undefined && found !== '') return found;
  throw invalid([
    {
      field: 'storageClassName',
      description:
        'is required: no class has default true and [storage].defaultStorageClass is not set',
    },
  ]);
}

/** Rules of volumes. */
export function volumeRules(options: VolumeRuleOptions): AdmissionRules<Volume> {
  const { drivers, sealer } = options;
  return {
    finalizers: [volumeFinalizer],
    async prepare(context, object, before) {
      const named = object.storageClassName || before?.storageClassName;
      const storageClassName = await classNameOf(context, named, options.defaultStorageClass);
      const storageClass = await classNamed(context, storageClassName);
      const driver = storageClass && (await drivers.get(storageClass.driver));
      const sensitive = driver?.capabilities().sensitiveParameters ?? [];
      const stored = await storedParameters(context, volumes, before, (v) => v.parameters);
      const parameters = sealParameters(sealer, object.parameters, sensitive, stored);
      return { ...object, storageClassName, ...(parameters ? { parameters } : {}) };
    },
    async validate(context, object, before) {
      const storageClass = await classNamed(context, object.storageClassName);
      if (!storageClass) {
        // A volume outlives its class; only a new one needs it.
        if (before) return [];
        const description = `storage class "${object.storageClassName}" does not exist; create it, or name another`;
        return [{ field: 'storageClassName', description }];
      }
      const driver = await drivers.get(storageClass.driver);
      if (!driver)
        return [
          {
            field: 'storageClassName',
            description: `its driver ${storageClass.driver} is not registered`,
          },
        ];
      const violations = [
        ...shapeViolations(object, storageClass, driver),
        ...(await referenceViolations(context, object.parameters, object.namespace)),
        ...(before
          ? updateViolations(object, before, driver)
          : await sourceViolations(context, object, driver)),
      ];
      if (violations.length === 0 && before) demandGrowable(object, before, driver);
      return violations;
    },
    validateDelete(_context, volume) {
      if (volume.status !== 'Bound' && (volume.attachments?.length ?? 0) === 0)
        return Promise.resolve();
      const claim = volume.boundClaim || volume.attachments?.[0]?.claim || 'an instance';
      return Promise.reject(
        failedPrecondition(
          'InUse',
          `volume "${volume.namespace}/${volume.name}" is bound to ${claim}; delete the service or scale it down first`,
          { kind: 'Volume', namespace: volume.namespace, name: volume.name },
        ),
      );
    },
    present(volume) {
      const shown = { ...volume };
      const parameters = maskParameters(volume.parameters);
      const driverParameters = maskParameters(volume.driverParameters);
      return {
        ...shown,
        ...(parameters ? { parameters } : {}),
        ...(driverParameters ? { driverParameters } : {}),
        ...(volume.handle ? { handle: shownHandle(volume.handle) ?? '' } : {}),
      };
    },
  };
}
