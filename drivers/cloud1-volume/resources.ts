import {
  DriverError,
  type FindRequest,
  type OrphanListing,
  type OrphanRequest,
  type ProviderResource,
} from '@kedge/driver-sdk';
import { bytesOf, type Caller, isKind } from '@kedge/driver-sdk/provider';
import type { Cloud1Api, CloudSnapshot, CloudVolume } from './api.js';
import { markOf } from './names.js';
import { classCallerOf } from './requests.js';

/** Maximum number of requests of a listing for the snapshots of single volumes. */
const snapshotRequestsMax = 100;
const addScope =
  "add scope snapshot:read to the token, or look for names that begin with kedge- in DigitalOcean's console";

function volumeResource(volume: CloudVolume, label: string): ProviderResource {
  const { id, name, sizeGib, description, droplets, region } = volume;
  const [instance] = droplets;
  return {
    type: 'volume',
    handle: id,
    name,
    sizeBytes: bytesOf(sizeGib),
    topology: { [label]: region },
    ...markOf(description),
    ...(instance === undefined ? {} : { instance }),
  };
}

/**
 * Snapshots have no description. Their object is known only by their name, and their cluster only by the mark of their
 * volume.
 */
function snapshotResource(
  { id, name, sizeGib, regions }: CloudSnapshot,
  cluster: string | undefined,
  label: string,
): ProviderResource {
  const [, uid] = /^kedge-(?!h-)(.+)$/.exec(name) ?? [];
  const [region, ...others] = regions;
  return {
    type: 'snapshot',
    handle: id,
    name,
    sizeBytes: bytesOf(sizeGib),
    ...(region === undefined || others.length > 0 ? {} : { topology: { [label]: region } }),
    ...(uid === undefined ? {} : { uid }),
    ...(cluster === undefined ? {} : { cluster }),
  };
}

/** The inputs of a listing. */
interface Listing {
  readonly api: Cloud1Api;
  readonly caller: Caller;
  readonly cluster: string;
  readonly label: string;
  /** Whether to list also resources that do not have the mark of the cluster. */
  readonly all: boolean;
}

/** The answer to the request for all snapshots. */
type AllSnapshots =
  | { readonly type: 'listed'; readonly snapshots: readonly CloudSnapshot[] }
  /** The token lacks the scope for their list. */
  | { readonly type: 'refused' }
  | { readonly type: 'failed'; readonly message: string };

/** The snapshots of the account in every region. A failure does not hide the volumes. */
async function allSnapshots({ api, caller }: Listing): Promise<AllSnapshots> {
  try {
    return { type: 'listed', snapshots: await api.snapshots(caller) };
  } catch (thrown) {
    if (isKind(thrown, 'CredentialsRejected')) return { type: 'refused' };
    if (caller.signal.aborted) throw thrown;
    return { type: 'failed', message: DriverError.from(thrown).message };
  }
}

/**
 * Whether the driver may have created a snapshot for this cluster: it has a name of the driver, and its volume does not
 * have the mark of another cluster.
 */
function isOwnSnapshot(
  { name }: CloudSnapshot,
  volumeCluster: string | undefined,
  cluster: string,
): boolean {
  return name.startsWith('kedge-') && (volumeCluster ?? cluster) === cluster;
}

/**
 * Lists the snapshots of at most 100 volumes with a request for each, because the token can't list all snapshots.
 * Warnings report the snapshots that are missing.
 */
async function snapshotsByVolume(
  { api, caller, cluster, label, all }: Listing,
  volumes: readonly ProviderResource[],
): Promise<OrphanListing> {
  const gone = new Set<ProviderResource>();
  const snapshots: ProviderResource[] = [];
  const unlisted = all ? '' : ' and of volumes without the mark of this cluster';
  const warnings = [
    `snapshots of deleted volumes${unlisted} can't be listed: DigitalOcean refuses this token the list of all snapshots; ${addScope}`,
  ];
  const own = volumes.filter((one) => one.cluster === cluster);
  const asked = [...own, ...volumes.filter((one) => one.cluster !== cluster)];
  for (const [n, volume] of asked.entries()) {
    const stopped = (reason: string): void => {
      warnings.push(`the snapshots of ${asked.length - n} volumes were not listed: ${reason}`);
    };
    if (n === snapshotRequestsMax) {
      stopped(`a listing asks for those of ${n} volumes, with a request for each; ${addScope}`);
      break;
    }
    try {
      for (const snapshot of await api.snapshotsOf(caller, volume.handle))
        if (all || isOwnSnapshot(snapshot, volume.cluster, cluster))
          snapshots.push(snapshotResource(snapshot, volume.cluster, label));
    } catch (thrown) {
      const { kind, message } = DriverError.from(thrown);
      // It was deleted after it was listed.
      if (kind === 'NotFound') {
        gone.add(volume);
        continue;
      }
      if (kind !== 'CredentialsRejected' && kind !== 'Throttled') throw thrown;
      stopped(message);
      break;
    }
  }
  return { resources: [...volumes.filter((one) => !gone.has(one)), ...snapshots], warnings };
}

/**
 * Lists the volumes and snapshots of this cluster in every region, because a class may have had another region before;
 * with `request.all` those of the whole account. Snapshots that may be of this cluster, but whose volume is deleted or
 * has no mark, are included without a cluster.
 */
export async function listResources(
  api: Cloud1Api,
  request: OrphanRequest,
  cluster: string,
  label: string,
): Promise<OrphanListing> {
  const caller = classCallerOf(request);
  const of: Listing = { api, caller, cluster, label, all: request.all === true };
  // Snapshots are listed before volumes: then a volume of a listed snapshot that the volumes lack was deleted.
  const answer = await allSnapshots(of);
  const every = (await api.volumes(caller, {})).map((one) => volumeResource(one, label));
  const volumes = of.all ? every : every.filter((one) => one.cluster === cluster);
  if (answer.type === 'refused') return snapshotsByVolume(of, volumes);
  if (answer.type === 'failed')
    return { resources: volumes, warnings: [`snapshots were not listed: ${answer.message}`] };
  const clusters = new Map(every.map((one) => [one.handle, one.cluster]));
  const resources = answer.snapshots
    .map((one) => ({ one, of: clusters.get(one.volume) }))
    .filter((each) => of.all || isOwnSnapshot(each.one, each.of, cluster))
    .map((each) => snapshotResource(each.one, each.of, label));
  return { resources: [...volumes, ...resources], warnings: [] };
}

/** A volume by its id. @throws DriverError NotFound; other kinds if the provider refuses the call */
export async function findVolume(
  api: Cloud1Api,
  request: FindRequest,
  label: string,
): Promise<ProviderResource> {
  const volume = await api.volume(classCallerOf(request), request.handle);
  return volumeResource(volume, label);
}
