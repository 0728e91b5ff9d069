import {
  type ClassRequest,
  DriverError,
  type FindRequest,
  type OrphanListing,
  type OrphanRequest,
  type PermissionReport,
  type ProviderResource,
} from '@kedge/driver-sdk';
import {
  bytesOf,
  type Caller,
  endpointReport,
  probed,
  withoutCredential,
} from '@kedge/driver-sdk/provider';
import type { Cloud1Api, CloudSnapshot, CloudVolume } from './api.js';
import { allScopes } from './credentials.js';
import { markOf } from './names.js';
import { classCallerOf } from './requests.js';

const absentId = '00000000-0000-0000-0000-000000000000';
const noToken = 'it needs a token';

/** Calls by scope that show without a change whether a token has the scope. Other scopes have no such call. */
function probes(
  api: Cloud1Api,
  caller: Caller,
  node: string,
): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    'block_storage:read': () => api.volume(caller, absentId),
    'droplet:read': () => api.dropletsNamed(caller, node),
    'actions:read': () => api.actionState(caller, '1'),
    'block_storage_snapshot:read': () => api.snapshot(caller, absentId),
  };
}

/** The Droplet of the node; undefined if the token can't look it up, which has a row of its own. */
async function dropletReport(
  api: Cloud1Api,
  caller: Caller,
  node: string,
): Promise<PermissionReport | undefined> {
  const found = await api.dropletsNamed(caller, node).catch(() => undefined);
  if (!found) return undefined;
  const row = { permission: `Droplet of node ${node}`, needed: 'attaching volumes to the node' };
  if (found.length === 1) return { ...row, state: 'ok' };
  const team = 'the team of the token';
  const message =
    found.length === 0
      ? `${team} has no Droplet named ${node}; give [node] name the name of its Droplet, or use a token of its team`
      : `${team} has ${found.length} Droplets named ${node}; rename all but one`;
  return { ...row, state: 'missing', message };
}

/** Reports the scopes of a class's token, by reads alone. */
export async function checkScopes(
  api: Cloud1Api,
  endpoint: string,
  request: ClassRequest,
): Promise<readonly PermissionReport[]> {
  let caller: Caller;
  try {
    caller = classCallerOf(request);
  } catch (thrown) {
    return withoutCredential('apiToken', thrown, allScopes.map(scopeRow), noToken);
  }
  const unreachable = await endpointReport(endpoint, () => api.volume(caller, absentId));
  if (unreachable.state !== 'ok') {
    const message = 'the endpoint did not answer';
    return [unreachable, ...allScopes.map((row) => ({ ...scopeRow(row), message }))];
  }
  const reads = probes(api, caller, request.node);
  const reports: PermissionReport[] = [unreachable];
  for (const row of allScopes) {
    const read = reads[row.scope];
    reports.push(read ? await probed(scopeRow(row), read) : scopeRow(row));
  }
  const droplet = await dropletReport(api, caller, request.node);
  return droplet ? [...reports, droplet] : reports;
}

function scopeRow({ scope, needed }: (typeof allScopes)[number]): PermissionReport {
  return { permission: scope, state: 'unknown', needed };
}

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

/** Snapshots have no description: their name is all that is known of their object. */
function snapshotResource(
  { id, name, sizeGib }: CloudSnapshot,
  { cluster }: ProviderResource,
): ProviderResource {
  const [, uid] = /^kedge-(?!h-)(.+)$/.exec(name) ?? [];
  return {
    type: 'snapshot',
    handle: id,
    name,
    sizeBytes: bytesOf(sizeGib),
    ...(uid === undefined ? {} : { uid }),
    ...(cluster === undefined ? {} : { cluster }),
  };
}

/**
 * The volumes of the account in every region, because a class may have had another one before, and the snapshots of
 * those in the region of the class.
 */
export async function listResources(
  api: Cloud1Api,
  request: OrphanRequest,
  cluster: string,
  label: string,
): Promise<OrphanListing> {
  const caller = classCallerOf(request);
  const { region = '' } = request.parameters;
  const resources: ProviderResource[] = [];
  const warnings = [
    "snapshots of deleted volumes can't be listed: the token has no scope for all snapshots; look for names that begin with kedge- in DigitalOcean's console",
  ];
  for (const volume of await api.volumes(caller, {})) {
    const resource = volumeResource(volume, label);
    if (!request.all && resource.cluster !== cluster) continue;
    resources.push(resource);
    // A request for each volume: the class of its own region makes it.
    if (region !== '' && volume.region !== region) continue;
    try {
      for (const snapshot of await api.snapshotsOf(caller, volume.id))
        if (request.all || snapshot.name.startsWith('kedge-'))
          resources.push(snapshotResource(snapshot, resource));
    } catch (thrown) {
      const { kind, message } = DriverError.from(thrown);
      // It was deleted after it was listed.
      if (kind === 'NotFound') {
        resources.splice(resources.indexOf(resource), 1);
        continue;
      }
      if (kind !== 'CredentialsRejected') throw thrown;
      warnings.push(`snapshots of volume ${volume.id} can't be listed: ${message}`);
    }
  }
  return { resources, warnings };
}

/** A volume by its id. @throws DriverError NotFound */
export async function findVolume(
  api: Cloud1Api,
  request: FindRequest,
  label: string,
): Promise<ProviderResource> {
  const volume = await api.volume(classCallerOf(request), request.handle);
  return volumeResource(volume, label);
}
