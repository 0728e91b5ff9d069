import { keyString, type ObjectKey, type Transaction } from 'kedge';
import type { DriverRegistry } from '@kedge/driver-sdk';
import type { Instance } from '../instance/kind.js';
import { volumeMissing } from '../messages/storage.js';
import { isSettled, type VolumeConstraint } from '../placement/index.js';
import { volumeOfMount } from '../references/claim.js';
import { namedTopology } from '../storage-class/index.js';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { type Volume, volumes } from '../volume/kind.js';

type Drivers = Pick<DriverRegistry, 'get'>;

/** The node constraints of an instance's volumes. */
export interface Constraints {
  readonly now: readonly VolumeConstraint[];
  /** The constraints that apply once the volumes whose place is chosen are provisioned. */
  readonly later: readonly VolumeConstraint[];
  /** The messages about volumes that do not exist, if the instance waits for them without a node. */
  readonly missing: readonly string[];
}

/** The topology that parameters give, and the labels that a volume gets from a node. */
async function placeOf(
  drivers: Drivers,
  driverName: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Required<Pick<VolumeConstraint, 'named' | 'open'>>> {
  const driver = await drivers.get(driverName);
  const { placeParameters, requiredTopologyKeys = [] } = driver?.capabilities() ?? {};
  const named = namedTopology(parameters, placeParameters);
  const open = requiredTopologyKeys.filter(
    (key) => named.labels[key] === undefined && named.references[key] === undefined,
  );
  return { named, open };
}

/** Returns the node constraints of a volume. Its parameters have the same precedence as in driver calls. */
async function constraintOf(
  drivers: Drivers,
  volume: Volume,
  storageClass: StorageClass | undefined,
): Promise<VolumeConstraint> {
  if (volume.handle || !storageClass) return { volume, storageClass };
  const parameters = {
    ...storageClass.parameters,
    ...volume.parameters,
    ...volume.driverParameters,
  };
  const place = await placeOf(drivers, volume.driver || storageClass.driver, parameters);
  return { volume, storageClass, ...place };
}

/**
 * The messages about missing volumes that keep an instance from every node. They do if volumes of one of the classes get
 * their zone from a node: a placed instance would determine that zone, even if the zone has no capacity.
 */
async function awaited(
  drivers: Drivers,
  classes: readonly StorageClass[],
  missing: readonly ObjectKey[],
): Promise<readonly string[]> {
  if (missing.length === 0) return [];
  for (const { driver, parameters = {} } of classes) {
    const { open } = await placeOf(drivers, driver, parameters);
    if (open.length === 0) continue;
    return missing.map((key) => `${volumeMissing.format({ volume: keyString(key) })} yet`);
  }
  return [];
}

/**
 * Reads the node constraints of an instance's volumes.
 * @param classes the present storage classes: the class of a missing volume is one of them
 */
export async function constraintsOf(
  drivers: Drivers,
  classes: readonly StorageClass[],
  txn: Transaction,
  { namespace, service, ordinal, template }: Instance,
): Promise<Constraints> {
  const now: VolumeConstraint[] = [];
  const later: VolumeConstraint[] = [];
  const missing: ObjectKey[] = [];
  for (const mount of template.volumes ?? []) {
    const key = volumeOfMount(mount, namespace, service, ordinal);
    const watching = ['handle', 'topology', 'driver', 'driverParameters'] as const;
    if (!key) continue;
    const volume = await txn.get(volumes, key, { watching });
    if (!volume) {
      missing.push(key);
      continue;
    }
    await txn.get(volumes, key, { watching: 'generation' });
    const { storageClassName: name } = volume;
    const storageClass =
      name === '' ? undefined : await txn.get(storageClasses, { name }, { watching: 'generation' });
    const constraint = await constraintOf(drivers, volume, storageClass);
    now.push(constraint);
    later.push(
      !volume.handle && isSettled(volume)
        ? { volume: { ...volume, handle: 'in progress' }, storageClass }
        : constraint,
    );
  }
  return { now, later, missing: await awaited(drivers, classes, missing) };
}
