import { hasCode, type ObjectStore } from 'kedge';
import { DriverError, type OrphanListing, type ProviderResource } from '@kedge/driver-sdk';
import { snapshots } from '../snapshot/kind.js';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import {
  asAnswer,
  type ClassCall,
  classCall,
  type InspectionOptions,
  type OtherPlace,
  otherPlaceOf,
  requireClass,
} from './class-call.js';
import { importCommand } from './import-command.js';

/** A resource that no object owns. */
export interface Orphan {
  readonly storageClassName: string;
  readonly driver: string;
  readonly origin: 'own' | 'foreign' | 'unmarked';
  readonly resource: ProviderResource;
  /** The command that imports it. Empty for snapshots, and for a volume in a place that no class names. */
  readonly command: string;
}

/** The request of {@link findOrphans}. */
export interface OrphanQuery {
  /** Empty: all classes. */
  readonly storageClassName: string;
  /** Whether resources without a mark, and with the mark of another cluster, are included. */
  readonly all: boolean;
  /** Namespace of secret references without one. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

interface Listed {
  readonly storageClass: StorageClass;
  readonly driver: string;
  readonly resource: ProviderResource;
  /** Present if the class can't import the resource. */
  readonly otherPlace: OtherPlace | undefined;
}

/** Handles and uids of the objects with a driver. */
interface Owned {
  readonly handles: ReadonlySet<string>;
  readonly uids: ReadonlySet<string>;
}

async function ownedBy(
  { resolver }: InspectionOptions,
  store: ObjectStore,
  driver: string,
): Promise<Owned> {
  const handles = new Set<string>();
  const uids = new Set<string>();
  const objects = [...(await store.list(volumes)).items, ...(await store.list(snapshots)).items];
  for (const object of objects) {
    // Before provisioning a volume has no driver yet: its uid is enough.
    uids.add(object.metadata.uid);
    // The handle of a storage root that was moved is another one.
    if ('importedAs' in object && object.importedAs) uids.add(object.importedAs);
    if (object.driver !== driver) continue;
    const { handle = '' } = object;
    if (handle === '') continue;
    try {
      handles.add(resolver.openHandle(handle));
    } catch (error) {
      // A handle with a missing key is of no driver that lists resources: those contain no parameter values.
      if (!hasCode(error, 'Internal')) throw error;
    }
  }
  return { handles, uids };
}

async function listingOf(
  options: InspectionOptions,
  storageClass: StorageClass,
  { storageClassName, all, namespace, signal }: OrphanQuery,
): Promise<{ readonly call: ClassCall; readonly listing: OrphanListing }> {
  const key = { namespace, name: 'orphans' };
  const call = await classCall(options, storageClass, key, signal);
  const { driver, request } = call;
  // Its volumes are directories of the user, which no object has to own.
  if (!driver.orphans && storageClassName === '' && !driver.capabilities().ownsData)
    return { call, listing: { resources: [], warnings: [] } };
  if (!driver.orphans)
    throw new DriverError(
      'Unsupported',
      `driver ${driver.name} can't list resources${driver.capabilities().ownsData ? '' : ': the data of its volumes belongs to the user'}`,
    );
  return { call, listing: await driver.orphans({ ...request, all }) };
}

/**
 * Finds volumes and snapshots at the providers of the classes that no object owns. Changes nothing. A class that could
 * not be searched is named in a warning. Without a class in the query, drivers whose data belongs to the user are left
 * out.
 */
export async function findOrphans(
  options: InspectionOptions & { readonly store: ObjectStore },
  query: OrphanQuery,
): Promise<{ readonly orphans: readonly Orphan[]; readonly warnings: readonly string[] }> {
  const { store, clusterId } = options;
  const { storageClassName } = query;
  const classes =
    storageClassName === ''
      ? (await store.list(storageClasses)).items
      : [await requireClass(store, storageClassName)];
  const warnings = new Set<string>();
  // Classes with the same credential list the same resources: each resource is kept once.
  const listed = new Map<string, Listed>();
  for (const storageClass of classes)
    try {
      const { call, listing } = await listingOf(options, storageClass, query);
      const driver = call.driver.name;
      for (const text of listing.warnings) warnings.add(`driver ${driver}: ${text}`);
      for (const resource of listing.resources) {
        const key = `${driver} ${resource.type} ${resource.handle}`;
        const otherPlace = otherPlaceOf(call, resource);
        // The command names the first class that lists the resource and can import it.
        const known = listed.get(key);
        if (!known || (known.otherPlace && !otherPlace))
          listed.set(key, { storageClass, driver, resource, otherPlace });
      }
    } catch (thrown) {
      warnings.add(`class "${storageClass.name}" was not searched: ${asAnswer(thrown)}`);
    }
  // The objects are read after the resources: what is created meanwhile has an object.
  const owned = new Map<string, Owned>();
  const orphans: Orphan[] = [];
  for (const { storageClass, driver, resource, otherPlace } of listed.values()) {
    // The place of the class is part of the question.
    if (otherPlace && storageClassName !== '') continue;
    const of = owned.get(driver) ?? (await ownedBy(options, store, driver));
    owned.set(driver, of);
    const { handle, uid, cluster } = resource;
    if (of.handles.has(handle) || (uid !== undefined && of.uids.has(uid))) continue;
    const origin = cluster === undefined ? 'unmarked' : cluster === clusterId ? 'own' : 'foreign';
    if (origin !== 'own' && !query.all) continue;
    if (otherPlace)
      warnings.add(
        `driver ${driver}: volume ${handle} is in ${otherPlace.place}, which no class names in parameter ${otherPlace.parameter}; create a class of that place to import it`,
      );
    const command =
      resource.type === 'snapshot' || otherPlace
        ? ''
        : await importCommand(store, storageClass.name, resource, origin === 'foreign');
    orphans.push({ storageClassName: storageClass.name, driver, origin, resource, command });
  }
  return { orphans, warnings: [...warnings] };
}
