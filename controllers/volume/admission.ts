import {
  failedPrecondition,
  type FieldViolation,
  invalid,
  isDeleting,
  notFound,
  parseQuantity,
} from 'kedge';
import type { AdmissionContext, AdmissionRules } from 'kedge/server';
import type { Driver, DriverRegistry } from '@kedge/driver-sdk';
import { credentialKeysOf } from '../provisioned/credentials.js';
import { snapshots } from '../snapshot/kind.js';
import { sourceSnapshot, type Volume, volumes } from './kind.js';
import {
  maskParameters,
  referenceViolations,
  type Sealer,
  holderOf,
  sealParameters,
  shownHandle,
  storedParameters,
} from '../secret/index.js';
import {
  classBasis,
  classNamed,
  defaultClassName,
  policyOf,
  type ShapeBasis,
  shapeViolations,
} from '../storage-class/index.js';
import { claimViolations, requireUnreservedName } from './rules/claims.js';
import { deletionObstacle, sourceValue, waitingCopy } from './rules/in-use.js';
import { requirePolicyOpen } from './rules/policy-change.js';

/** Present until nothing is left to do for the volume at its provider: it is deleted or kept by its reclaim policy. */
export const volumeFinalizer = 'svc.io/volume';

/** Options of the rules of volumes. */
export interface VolumeRuleOptions {
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  /** `[storage].defaultStorageClass` of the node's configuration. */
  readonly defaultStorageClass: string | undefined;
}

function updateViolations(object: Volume, before: Volume, driver: Driver): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const now = parseQuantity(object.size) ?? 0n;
  const then = parseQuantity(before.size) ?? 0n;
  // A failed resize may be reverted to the provisioned size. A volume without a provisioned size may not shrink.
  const least = before.handle && before.sizeBytes ? BigInt(before.sizeBytes) : then;
  if (now < then && now < least)
    violations.push({
      field: 'size',
      description: `${JSON.stringify(object.size)} is less than ${has(before, least)}: a volume can only grow`,
    });
  if (before.handle) {
    const credentialKeys = credentialKeysOf(driver);
    const keys = new Set([
      ...Object.keys(object.parameters ?? {}),
      ...Object.keys(before.parameters ?? {}),
    ]);
    for (const key of keys) {
      if (credentialKeys.has(key)) continue;
      if (object.parameters?.[key] === before.parameters?.[key]) continue;
      violations.push({
        field: `parameters.${key}`,
        description: 'is immutable once the volume is provisioned; only credentials may change',
      });
    }
  }
  return violations;
}

/** The minimum size of a volume in an update: its current size, or the requested one. */
function has({ size }: Volume, least: bigint): string {
  return least === parseQuantity(size) ? JSON.stringify(size) : `its current ${least} bytes`;
}

/**
 * Checks that the source of a new volume is a snapshot that the caller may read, of the same driver, and not larger
 * than the volume.
 * @throws StatusError NotFound if the snapshot does not exist; FailedPrecondition (SourceDeleting) if it is being
 * deleted
 */
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
        description: `you are not permitted to read snapshots in namespace ${key.namespace}`,
      },
    ];
  const status = ['driver', 'restoreSize'] as const;
  const snapshot = await context.lookup(snapshots, key, { status });
  if (!snapshot) throw notFound({ kind: 'Snapshot', ...key });
  if (isDeleting(snapshot))
    throw failedPrecondition(
      'SourceDeleting',
      `snapshot "${key.namespace}/${key.name}" is being deleted: volumes can't be restored from it`,
      { kind: 'Snapshot', ...key },
    );
  const violations: FieldViolation[] = [];
  if (snapshot.driver && snapshot.driver !== driver.name)
    violations.push({
      field: 'storageClassName',
      description: `its driver is ${driver.name}, and snapshot "${key.name}" has driver ${snapshot.driver}; use a class of that driver`,
    });
  const least = BigInt(snapshot.restoreSize || '0');
  if ((parseQuantity(object.size) ?? 0n) < least)
    violations.push({
      field: 'size',
      description: `${JSON.stringify(object.size)} is less than snapshot "${key.name}" requires: ${least} bytes`,
    });
  return violations;
}

function requireGrowable(object: Volume, before: Volume, driver: Driver): void {
  if ((parseQuantity(object.size) ?? 0n) <= (parseQuantity(before.size) ?? 0n)) return;
  // A volume that is not provisioned yet is provisioned with the larger size.
  if (!before.handle) return;
  const { expand, onlineExpand } = driver.capabilities();
  const resource = { kind: 'Volume', namespace: object.namespace, name: object.name };
  if (!expand)
    throw failedPrecondition(
      'ExpandUnsupported',
      `driver ${driver.name} can't grow volumes; leave size at ${before.size}, or create a larger volume, mount both, and copy the data: kedge exec INSTANCE -n ${object.namespace} -- cp -a OLD/. NEW/`,
      resource,
    );
  if (before.status === 'Bound' && !onlineExpand)
    throw failedPrecondition(
      'OnlineExpandUnsupported',
      `driver ${driver.name} can't grow a volume while it is bound to ${before.boundClaim ?? 'an instance'}; scale its service down first`,
      resource,
    );
}

/**
 * The class of a volume; the default class if none is given.
 * @throws StatusError InvalidArgument if there is no default
 */
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
        'is required: no class has default true and [storage].defaultStorageClass is not set; set storageClassName, or make a class the default: kedge storageclass set-default CLASS',
    },
  ]);
}

/** The class of a volume; what was captured if it was deleted or has another driver now. Undefined without either. */
async function basisOf(
  context: AdmissionContext,
  drivers: DriverRegistry,
  object: Volume,
  before: Volume | undefined,
): Promise<{ readonly driver: string; readonly basis: ShapeBasis | undefined } | undefined> {
  const storageClass = await classNamed(context, object.storageClassName);
  const captured = before?.driver;
  // A class of the same name may have been created with another driver. The data belongs to the captured driver.
  if (storageClass && (!captured || captured === storageClass.driver)) {
    const driver = await drivers.get(storageClass.driver);
    return { driver: storageClass.driver, basis: driver && classBasis(storageClass, driver) };
  }
  if (!captured || object.storageClassName !== before.storageClassName) return undefined;
  const driver = await drivers.get(captured);
  const label = `class "${object.storageClassName}", which ${storageClass ? `has driver ${storageClass.driver} now` : 'does not exist any more'}`;
  const parameters = before.driverParameters ?? {};
  const reclaimPolicy = before.effectiveReclaimPolicy;
  return { driver: captured, basis: driver && { driver, label, parameters, reclaimPolicy } };
}

/** The class may change only if no driver was called for the volume and its class does not exist. */
async function classViolations(
  context: AdmissionContext,
  object: Volume,
  before: Volume | undefined,
): Promise<readonly FieldViolation[]> {
  if (!before || object.storageClassName === before.storageClassName) return [];
  const untouched = !before.driver && !before.handle;
  if (untouched && !(await classNamed(context, before.storageClassName))) return [];
  return [
    {
      field: 'storageClassName',
      description: `is immutable: it is "${before.storageClassName}" and can't become "${object.storageClassName}"; create a new volume instead`,
    },
  ];
}

/**
 * Removes a policy that the client has only read: a volume without a policy is shown with the effective one, and writing
 * that back must leave it unset. One that is being deleted is shown with its own, which alone ends a refused deletion.
 */
function withoutShownPolicy(volume: Volume, before: Volume | undefined): Volume {
  const { reclaimPolicy, ...rest } = volume;
  const isShown =
    before !== undefined &&
    !isDeleting(before) &&
    before.reclaimPolicy === undefined &&
    reclaimPolicy === before.effectiveReclaimPolicy;
  return isShown ? rest : volume;
}

/** Rules of volumes. */
export function volumeRules(options: VolumeRuleOptions): AdmissionRules<Volume> {
  const { drivers, sealer } = options;
  return {
    finalizers: [volumeFinalizer],
    async prepare(context, object, before) {
      const named = object.storageClassName || before?.storageClassName;
      const storageClassName = await classNameOf(context, named, options.defaultStorageClass);
      const found = await basisOf(context, drivers, { ...object, storageClassName }, before);
      const sensitive =
        found?.basis && (found.basis.driver.capabilities().sensitiveParameters ?? []);
      const stored = await storedParameters(context, volumes, before, (v) => v.parameters);
      const holder = holderOf(volumes, object);
      const sealing = { sealer, holder, sensitive, stored, field: 'parameters' };
      const parameters = sealParameters(object.parameters, sealing);
      return {
        ...withoutShownPolicy(object, before),
        storageClassName,
        ...(parameters ? { parameters } : {}),
        ...(before ? {} : { effectiveReclaimPolicy: policyOf(object, found?.basis) }),
      };
    },
    async validate(context, object, before) {
      const field = 'storageClassName';
      const found = await basisOf(context, drivers, object, before);
      const renamed = await classViolations(context, object, before);
      if (!found) {
        const description = `storage class "${object.storageClassName}" does not exist; create it, or use another`;
        return [...renamed, { field, description }];
      }
      const { basis } = found;
      const unregistered = `its driver ${found.driver} is not registered; use a class of another driver`;
      if (!basis) return [{ field, description: unregistered }];
      const { driver } = basis;
      const violations = [
        ...renamed,
        ...shapeViolations(object, basis),
        ...(await referenceViolations(context, object.parameters, object.namespace)),
        ...(before
          ? updateViolations(object, before, driver)
          : await sourceViolations(context, object, driver)),
        ...(await claimViolations(context, object, driver.name)),
      ];
      if (violations.length > 0) return violations;
      if (before) {
        requirePolicyOpen(object, before);
        requireGrowable(object, before, driver);
      } else await requireUnreservedName(context, object);
      return [];
    },
    // A pending deletion may need a new policy, if the data can't be deleted, or a new credential.
    neededWhileTerminating: (_context, _object, before) =>
      Promise.resolve(before !== undefined && isDeleting(before)),
    async validateDelete(context, volume) {
      const { namespace, name } = volume;
      const status = ['status'] as const;
      const obstacle =
        deletionObstacle(volume) ??
        waitingCopy(
          volume,
          await context.lookupBy(snapshots, 'sourceVolume', sourceValue(volume), { status }),
        );
      if (obstacle === undefined) return;
      throw failedPrecondition('InUse', obstacle, { kind: 'Volume', namespace, name });
    },
    present(volume) {
      const policy = volume.reclaimPolicy ?? volume.effectiveReclaimPolicy;
      const policies = policy && {
        ...(isDeleting(volume) ? {} : { reclaimPolicy: policy }),
        effectiveReclaimPolicy: policy,
      };
      const shown = { ...volume, ...policies };
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
