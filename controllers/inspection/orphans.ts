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
import { callsOf, hasProviderHandles, isSameResource, resourceOf } from './second-resource.js';

/** A resource that no object owns. */
export interface Orphan {
  readonly storageClassName: string;
  readonly driver: string;
  readonly origin: 'own' | 'foreign' | 'unmarked';
  readonly resource: ProviderResource;
  /** The command that imports it. Empty for snapshots, and for a volume in a place that no class names. */
  readonly command: string;
  /** The object that it was created for, which uses another resource. Undefined if there is no such object. */
  readonly secondOf: User | undefined;
}

/** An object with a resource. */
interface User {
  /** `<namespace>/<name>` */
  readonly label: string;
  /** In plaintext; empty before it is known. */
  readonly handle: string;
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
  readonly call: ClassCall;
  readonly storageClass: StorageClass;
  readonly driver: string;
  readonly resource: ProviderResource;
  /** Present if the class names another place than that of the resource, which it therefore can't import. */
  readonly otherPlace: OtherPlace | undefined;
}

/** The objects by what their resources have: the handle, of those with a driver, and the uid. */
interface Owned {
  readonly handles: ReadonlySet<string>;
  readonly uids: ReadonlyMap<string, User>;
}

/** The handle of an object; empty if it has none, or its key is missing. @throws StatusError */
function plainHandle(resolver: InspectionOptions['resolver'], handle = ''): string {
  if (handle === '') return '';
  try {
    return resolver.openHandle(handle);
  } catch (error) {
    // A handle with a missing key is of no driver that lists resources: those contain no parameter values.
    if (hasCode(error, 'Internal')) return '';
    throw error;
  }
}

async function ownedBy(
  { resolver }: InspectionOptions,
  store: ObjectStore,
  driver: string,
): Promise<Owned> {
  const handles = new Set<string>();
  const uids = new Map<string, User>();
  const objects = [...(await store.list(volumes)).items, ...(await store.list(snapshots)).items];
  for (const object of objects) {
    const handle = object.driver === driver ? plainHandle(resolver, object.handle) : '';
    const user = { label: `${object.namespace}/${object.name}`, handle };
    // Before provisioning a volume has no driver yet: its uid is enough.
    uids.set(object.metadata.uid, user);
    // After a move of its storage root a volume has another handle, but still this uid.
    if ('importedAs' in object && object.importedAs) uids.set(object.importedAs, user);
    if (handle !== '') handles.add(handle);
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
 * The resource of an object that another resource was created for, as its provider shows it. Undefined if none is
 * known: the object is being provisioned, or its handle is no identifier of a provider. An error if the provider does
 * not show it.
 */
async function ownResource(
  options: InspectionOptions,
  { call, driver, resource: { type } }: Listed,
  { handle }: User,
  among: {
    readonly listed: ReadonlyMap<string, Listed>;
    readonly classes: readonly StorageClass[];
    readonly query: OrphanQuery;
  },
): Promise<ProviderResource | DriverError | undefined> {
  if (handle === '' || !hasProviderHandles(call)) return undefined;
  const shown = among.listed.get(`${driver} ${type} ${handle}`);
  if (shown) return shown.resource;
  // Drivers look up volumes alone.
  if (type === 'snapshot') return undefined;
  const key = { namespace: among.query.namespace, name: 'orphans' };
  return resourceOf(callsOf(options, among.classes, key, call), handle).catch((thrown: unknown) =>
    DriverError.from(thrown),
  );
}

/**
 * Finds volumes and snapshots at the providers of the classes that no object owns. Changes nothing. A class that could
 * not be searched is named in a warning. Without a class in the query, drivers that can't list resources are left out
 * if the data belongs to the user.
 */
export async function findOrphans(
  options: InspectionOptions & { readonly store: ObjectStore },
  query: OrphanQuery,
): Promise<{ readonly orphans: readonly Orphan[]; readonly warnings: readonly string[] }> {
  const { store, clusterId } = options;
  const { storageClassName } = query;
  const every = (await store.list(storageClasses)).items;
  const classes = storageClassName === '' ? every : [await requireClass(store, storageClassName)];
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
          listed.set(key, { call, storageClass, driver, resource, otherPlace });
      }
    } catch (thrown) {
      warnings.add(`class "${storageClass.name}" was not searched: ${asAnswer(thrown)}`);
    }
  // The objects are read after the resources: what is created meanwhile has an object.
  const owned = new Map<string, Owned>();
  const orphans: Orphan[] = [];
  /** Numbers of snapshots that may be of this cluster, by driver. */
  const unmarked = new Map<string, number>();
  for (const of of listed.values()) {
    const { storageClass, driver, resource, otherPlace } = of;
    // The place of the class is part of the question.
    if (otherPlace && storageClassName !== '') continue;
    const { handles, uids } = owned.get(driver) ?? (await ownedBy(options, store, driver));
    owned.set(driver, { handles, uids });
    const { handle, uid, cluster } = resource;
    if (handles.has(handle)) continue;
    const origin = cluster === undefined ? 'unmarked' : cluster === clusterId ? 'own' : 'foreign';
    if (origin !== 'own' && !query.all) {
      // A snapshot that is being created has an object, but no handle yet.
      const isAwaited = uid !== undefined && uids.get(uid)?.handle === '';
      if (origin === 'unmarked' && resource.type === 'snapshot' && !isAwaited)
        unmarked.set(driver, (unmarked.get(driver) ?? 0) + 1);
      continue;
    }
    const user = uid === undefined ? undefined : uids.get(uid);
    if (user) {
      const own = await ownResource(options, of, user, { listed, classes: every, query });
      if (own instanceof DriverError)
        warnings.add(
          `driver ${driver}: ${resource.type} ${handle} was created for ${user.label}, which uses ${user.handle}; that one was not found, so it is not known whether they are the same: ${asAnswer(own)}`,
        );
      if (!own || own instanceof DriverError || isSameResource(own, resource)) continue;
    }
    if (otherPlace && resource.type === 'volume')
      warnings.add(
        `driver ${driver}: volume ${handle} is in ${otherPlace.place}, which no class names in parameter ${otherPlace.parameter}; create a class of that place to import it`,
      );
    const command =
      resource.type === 'snapshot' || otherPlace
        ? ''
        : await importCommand(store, storageClass.name, resource, origin === 'foreign');
    orphans.push({
      storageClassName: storageClass.name,
      driver,
      origin,
      resource,
      command,
      secondOf: user,
    });
  }
  for (const [driver, count] of unmarked)
    warnings.add(
      `driver ${driver}: ${count === 1 ? 'a snapshot' : `${count} snapshots`} may be of this cluster: only a volume has the mark of its cluster, and theirs is deleted or has none; --all lists them`,
    );
  return { orphans, warnings: [...warnings] };
}
