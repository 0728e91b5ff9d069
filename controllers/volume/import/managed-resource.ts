import type { ProviderResource } from '@kedge/driver-sdk';
import { failedPrecondition, type ObjectKey, type StatusError } from 'kedge';
import type { ApiParts, Validation } from 'kedge/server';
import type { ClassCall, InspectionOptions } from '../../inspection/class-call.js';
import {
  callsOf,
  hasProviderHandles,
  isSameResource,
  resourceOf,
} from '../../inspection/second-resource.js';
import { storageClasses } from '../../storage-class/kind.js';
import { resourceKey, type Volume, volumes } from '../kind.js';

function taken(
  handle: string,
  { namespace, name }: Pick<Volume, 'namespace' | 'name'>,
): StatusError {
  return failedPrecondition(
    'VolumeManaged',
    `volume ${handle} belongs to volume "${namespace}/${name}", so it can't be imported`,
    { kind: 'Volume', namespace, name },
  );
}

function sameName(name: string, other: Pick<Volume, 'namespace' | 'name'>): StatusError {
  const { namespace } = other;
  return failedPrecondition(
    'VolumeManaged',
    `volume "${namespace}/${other.name}" was imported from a volume named ${JSON.stringify(name)}, which is this one or could not be compared with it; if it is another one, retry with a class that can read both`,
    { kind: 'Volume', namespace, name: other.name },
  );
}

/** Whether a resource was created for a volume, whose uid is part of its mark. */
function isMarkedFor({ uid }: ProviderResource, { metadata, importedAs }: Volume): boolean {
  return uid !== undefined && (metadata.uid === uid || importedAs === uid);
}

/** Whether a volume was imported from a resource of this name, of a driver whose resources may have several handles. */
function isNamedLike({ name, identity }: ProviderResource, { importedAs }: Volume): boolean {
  return identity !== undefined && importedAs === name;
}

/**
 * Finds the volumes that seem to use `resource`, by its mark or its name, but are known to use another one. Returns the
 * handle of each by the uid of the volume. A resource with the mark of such a volume is left over from a creation whose
 * answer was lost.
 */
export async function distinctVolumes(
  { store }: ApiParts,
  options: InspectionOptions,
  call: ClassCall,
  { key, resource }: { readonly key: ObjectKey; readonly resource: ProviderResource },
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  if (!hasProviderHandles(call)) return found;
  const classes = (await store.list(storageClasses)).items;
  const { namespace = '', name } = key;
  for (const volume of (await store.list(volumes)).items) {
    const { handle = '', driver } = volume;
    if (handle === '' || handle === resource.handle || driver !== call.driver.name) continue;
    if (!isMarkedFor(resource, volume) && !isNamedLike(resource, volume)) continue;
    const calls = callsOf(options, classes, { namespace, name }, call);
    const own = await resourceOf(calls, options.resolver.openHandle(handle)).catch(() => undefined);
    // Without the other one it is unknown whether it is the same.
    if (own && !isSameResource(own, resource)) found.set(volume.metadata.uid, handle);
  }
  return found;
}

/**
 * Refuses a managed resource.
 * @param distinct the result of {@link distinctVolumes}
 * @throws StatusError FailedPrecondition (VolumeManaged) if a volume uses it, also by another handle, or if its mark or
 * name is that of a volume that is not known to use another one
 */
export async function requireUnmanaged(
  { store }: ApiParts,
  validation: Validation,
  { driver }: ClassCall,
  resource: ProviderResource,
  distinct: ReadonlyMap<string, string>,
): Promise<void> {
  const { handle, identity, name, uid } = resource;
  const isDistinct = (volume: Volume): boolean =>
    volume.handle !== undefined && distinct.get(volume.metadata.uid) === volume.handle;
  const key = resourceKey(driver.name, handle);
  const [other] = await validation.lookupBy(volumes, 'resource', key);
  if (other) throw taken(handle, other);
  // By the index, so that of two imports of one resource by different handles one is refused.
  const imported = resourceKey(driver.name, name);
  for (const volume of await validation.lookupBy(volumes, 'importedAs', imported))
    if (identity !== undefined && !distinct.has(volume.metadata.uid)) throw sameName(name, volume);
  // Read outside of the transaction: a uid is never reused, so that no volume can get it meanwhile.
  for (const volume of (await store.list(volumes)).items) {
    if (volume.driver !== undefined && volume.driver !== '' && volume.driver !== driver.name)
      continue;
    // A uid is unique everywhere, a name only in its region. In a storage root that was moved, only the uid is left.
    if (uid === undefined) break;
    if (isMarkedFor(resource, volume) && !isDistinct(volume)) throw taken(handle, volume);
  }
}
