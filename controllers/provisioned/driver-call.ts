import {
  type Driver,
  DriverError,
  type DriverRegistry,
  type Parameters,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { liveClass } from '../references/live-class.js';
import type { Volume } from '../volume/kind.js';
import { type Holder, holderOf, type ParameterResolver } from '../secret/index.js';
import { capturedBeside, credentialKeysOf, mergedParameters } from './credentials.js';
import { classMissing as classMissingForm, driverMissing } from '../messages/storage.js';

/** The inputs of a driver call. */
export interface DriverCallParts {
  readonly drivers: DriverRegistry;
  readonly resolver: Pick<ParameterResolver, 'rebind'>;
  /** The object of the call, which owns the parameters. */
  readonly holder: Holder;
}

/** The fields of a volume, or of a snapshot with the parameters of its source, that choose its driver call. */
export type CalledVolume = Pick<
  Volume,
  'driver' | 'driverParameters' | 'ownParameters' | 'parameters' | 'storageClassName'
>;

/** Driver and parameters of a volume, secret references not yet resolved. */
export interface DriverCall {
  readonly driver: Driver;
  readonly parameters: Parameters;
}

/**
 * The driver of a volume and its call parameters: placement as captured at provision, credentials from the live class
 * and volume, see {@link mergedParameters}. If the class was deleted, or is now of another driver, they are the captured ones
 * that {@link capturedBeside} leaves, with those of the volume itself.
 * @param named the class with the name of the volume's class
 * @throws DriverError InvalidParameters if neither class nor captured driver exists, or the driver is not registered
 */
export async function driverCall(
  { drivers, resolver, holder }: DriverCallParts,
  volume: CalledVolume,
  named: StorageClass | undefined,
): Promise<DriverCall> {
  const name = volume.driver || named?.driver;
  const storageClass = liveClass(volume, named);
  if (name === undefined) throw classMissing(volume);
  const driver = await drivers.get(name);
  if (!driver) throw new DriverError('InvalidParameters', driverMissing.format({ driver: name }));
  const from = holderOf(storageClasses, { name: volume.storageClassName });
  const ofClass = resolver.rebind(storageClass?.parameters ?? {}, from, holder);
  const live = mergedParameters(driver, ofClass, volume.parameters, volume);
  const parameters: Record<string, string> = {
    ...live,
    ...(storageClass ? volume.driverParameters : capturedBeside(driver, volume, live)),
  };
  const credentialKeys = [...credentialKeysOf(driver)];
  for (const key of credentialKeys) {
    const value = live[key];
    if (value !== undefined) parameters[key] = value;
    // Removed from the class: captured ones serve only when the class is gone (specification 2.2).
    else if (storageClass) delete parameters[key];
  }
  if (credentialKeys.some((key) => (parameters[key] ?? '') !== '')) return { driver, parameters };
  return { driver, parameters: { ...parameters, ...drivers.credentialsOf?.(name) } };
}

/** The error for a volume whose class was deleted before provisioning. */
export function classMissing(volume: Pick<Volume, 'storageClassName'>): DriverError {
  return new DriverError(
    'InvalidParameters',
    `${classMissingForm.format({ storageClass: volume.storageClassName })}; create it, and the volume is retried automatically`,
  );
}

/** The identity of a volume for its driver. */
export function identityOf(volume: Volume): VolumeIdentity {
  const { name, namespace, metadata, importedAs = '', accessMode, topology } = volume;
  return {
    uid: metadata.uid,
    name,
    namespace,
    accessMode,
    ...(importedAs === '' ? {} : { importedAs }),
    ...(topology === undefined ? {} : { topology }),
  };
}
