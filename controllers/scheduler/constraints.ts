import type { Transaction } from 'kedge';
import type { DriverRegistry } from '@kedge/driver-sdk';
import type { Instance } from '../instance/kind.js';
import { isSettled, type VolumeConstraint } from '../placement/index.js';
import { volumeOfMount } from '../references/claim.js';
import { namedTopology } from '../storage-class/index.js';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { type Volume, volumes } from '../volume/kind.js';

type Drivers = Pick<DriverRegistry, 'get'>;

/** The node constraints of an instance's volumes. */
export interface Constraints {
  readonly now: readonly VolumeConstraint[];
  /** Those that apply once the volumes are provisioned whose place is chosen. */
  readonly later: readonly VolumeConstraint[];
}

/** Returns the node constraints of a volume. Its parameters have the same precedence as in driver calls. */
async function constraintOf(
  drivers: Drivers,
  volume: Volume,
  storageClass: StorageClass | undefined,
): Promise<VolumeConstraint> {
  if (volume.handle || !storageClass) return { volume, storageClass };
  const driver = await drivers.get(volume.driver || storageClass.driver);
  const parameters = {
    ...storageClass.parameters,
    ...volume.parameters,
    ...volume.driverParameters,
  };
  const { placeParameters, requiredTopologyKeys = [] } = driver?.capabilities() ?? {};
  const named = namedTopology(parameters, placeParameters);
  const open = requiredTopologyKeys.filter(
    (key) => named.labels[key] === undefined && named.references[key] === undefined,
  );
  return { volume, storageClass, named, open };
}

/** Reads the node constraints of an instance's volumes. A missing volume has none. */
export async function constraintsOf(
  drivers: Drivers,
  txn: Transaction,
  { namespace, service, ordinal, template }: Instance,
): Promise<Constraints> {
  const now: VolumeConstraint[] = [];
  const later: VolumeConstraint[] = [];
  for (const mount of template.volumes ?? []) {
    const key = volumeOfMount(mount, namespace, service, ordinal);
    const watching = ['handle', 'topology', 'driver', 'driverParameters'] as const;
    const volume = key && (await txn.get(volumes, key, { watching }));
    if (!volume) continue;
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
  return { now, later };
}
