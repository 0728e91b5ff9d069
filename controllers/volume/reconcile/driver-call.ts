import {
  type Driver,
  DriverError,
  type DriverRegistry,
  type Parameters,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { type StorageClass, storageClasses } from '../../storage-class/kind.js';
import type { Volume } from '../kind.js';
import { type Holder, holderOf, type ParameterResolver } from '../../secret/index.js';

/** What a call is put together from. */
export interface DriverCallParts {
  readonly drivers: DriverRegistry;
  readonly resolver: Pick<ParameterResolver, 'rebind'>;
  /** The object that the call is for, and whose parameters these are. */
  readonly holder: Holder;
}

/** Driver and parameters of a volume, secret references not yet resolved. */
export interface DriverCall {
  readonly driver: Driver;
  readonly parameters: Parameters;
}

/**
 * The driver of a volume and the parameters it is called with: placement as captured at provision,
 * credentials from the live class and volume; all as captured once the class
 * is gone.
 * @throws DriverError InvalidParameters when neither class nor driver is there.
 */
export async function driverCall(
  { drivers, resolver, holder }: DriverCallParts,
  volume: Pick<Volume, 'driver' | 'driverParameters' | 'parameters' | 'storageClassName'>,
  storageClass: StorageClass | undefined,
): Promise<DriverCall> {
  const name = volume.driver || storageClass?.driver;
  if (name === undefined) throw classMissing(volume);
  const driver = await drivers.get(name);
  if (!driver) throw new DriverError('InvalidParameters', `driver ${name} is not registered`);
  const from = holderOf(storageClasses, { name: volume.storageClassName });
  const ofClass = resolver.rebind(storageClass?.parameters ?? {}, from, holder);
  const live = { ...ofClass, ...volume.parameters };
  const parameters: Record<string, string> = { ...live, ...volume.driverParameters };
  for (const key of driver.capabilities().sensitiveParameters)
    if (live[key] !== undefined) parameters[key] = live[key];
  return { driver, parameters };
}

/** What is wrong with a volume whose class is gone before it was provisioned. */
export function classMissing(volume: Pick<Volume, 'storageClassName'>): DriverError {
  return new DriverError(
    'InvalidParameters',
    `storage class "${volume.storageClassName}" does not exist; create it and the volume goes on by itself`,
  );
}

/** What a driver knows a volume by. */
export function identityOf(volume: Volume): VolumeIdentity {
  return { uid: volume.metadata.uid, name: volume.name, namespace: volume.namespace };
}
