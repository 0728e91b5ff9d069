import { DriverError, type ProviderResource } from '@kedge/driver-sdk';
import type { StorageClass } from '../storage-class/kind.js';
import { type ClassCall, classCall, type InspectionOptions } from './class-call.js';

/**
 * Whether two answers of a provider are about one resource, which may have several handles. An answer without the
 * identity that the other one has proves no difference.
 */
export function isSameResource(one: ProviderResource, other: ProviderResource): boolean {
  if (one.handle === other.handle) return true;
  if (one.identity === undefined && other.identity === undefined) return false;
  return (
    one.identity === undefined || other.identity === undefined || one.identity === other.identity
  );
}

/**
 * Whether the handles of a driver are identifiers of a provider. Handles in a storage root are not: a move of the root
 * changes them.
 */
export function hasProviderHandles({ driver }: Pick<ClassCall, 'driver'>): boolean {
  return driver.provider !== undefined && driver.find !== undefined;
}

/** The calls of the classes of a driver, first the given one. Classes whose secrets are missing are left out. */
export async function* callsOf(
  options: InspectionOptions,
  classes: readonly StorageClass[],
  volume: { readonly namespace: string; readonly name: string },
  first: ClassCall,
): AsyncGenerator<ClassCall> {
  yield first;
  for (const storageClass of classes) {
    if (storageClass.driver !== first.driver.name) continue;
    try {
      yield await classCall(options, storageClass, volume, first.request.signal);
    } catch (thrown) {
      if (!(thrown instanceof DriverError)) throw thrown;
    }
  }
}

/**
 * Finds the volume of a handle by the first of the calls that sees it: a class may see one region alone.
 * @throws DriverError of the last call if none does
 */
export async function resourceOf(
  calls: AsyncIterable<ClassCall> | Iterable<ClassCall>,
  handle: string,
): Promise<ProviderResource> {
  let last = new DriverError('Unsupported', 'no class can look it up');
  for await (const { driver, request } of calls)
    try {
      if (driver.find) return await driver.find({ ...request, handle });
    } catch (thrown) {
      last = DriverError.from(thrown);
    }
  throw last;
}
