import {
  type ClassRequest,
  DriverError,
  type OrphanListing,
  type PermissionReport,
  type ProviderResource,
} from '@kedge/driver-sdk';
import { bytesOf } from '@kedge/driver-sdk/provider';
import type { Caller, Cloud1Api } from './api.js';
import { allScopes } from './credentials.js';
import { markOf } from './names.js';
import { tokenOf } from './parameters.js';

const nobody = '00000000-0000-0000-0000-000000000000';

/** Reads that show whether the token has a scope; of the others nothing can be said without a change. */
function probes(
  api: Cloud1Api,
  caller: Caller,
  node: string,
): Readonly<Record<string, () => Promise<unknown>>> {
  return {
    'block_storage:read': () => api.volume(caller, nobody),
    'droplet:read': () => api.dropletsNamed(caller, node),
    'actions:read': () => api.actionState(caller, '1'),
    'block_storage_snapshot:read': () => api.snapshot(caller, nobody),
  };
}

function callerOf({ parameters, signal }: ClassRequest): Caller {
  return { token: tokenOf(parameters), about: 'check', signal };
}

/** What the token of a class permits, by reads alone. */
export async function checkScopes(
  api: Cloud1Api,
  request: ClassRequest,
): Promise<readonly PermissionReport[]> {
  const reads = probes(api, callerOf(request), request.node);
  const reports: PermissionReport[] = [];
  for (const { scope, needed } of allScopes) {
    const read = reads[scope];
    if (!read) {
      reports.push({ permission: scope, state: 'unknown', needed });
      continue;
    }
    const error = await read().then(
      () => undefined,
      (thrown: unknown) => DriverError.from(thrown),
    );
    const found = error === undefined || error.kind === 'NotFound';
    // An action that can't be observed is reported as Timeout.
    const missing = error?.kind === 'CredentialsRejected' || error?.operation !== undefined;
    reports.push({
      permission: scope,
      state: found ? 'ok' : missing ? 'missing' : 'unknown',
      needed,
      ...(error && !found ? { message: error.message } : {}),
    });
  }
  return reports;
}

/** The volumes of this installation, and their snapshots. */
export async function listResources(
  api: Cloud1Api,
  request: ClassRequest,
  cluster: string,
): Promise<OrphanListing> {
  const caller = callerOf(request);
  const { region = '' } = request.parameters;
  const resources: ProviderResource[] = [];
  const warnings = [
    "snapshots of deleted volumes can't be listed: the token has no scope for all snapshots; look for names that begin with kedge- in DigitalOcean's console",
  ];
  const query: Readonly<Record<string, string>> = region === '' ? {} : { region };
  for (const volume of await api.volumes(caller, query)) {
    const mark = markOf(volume.description);
    if (!mark || mark.cluster !== cluster) continue;
    const [instance] = volume.droplets;
    resources.push({
      type: 'volume',
      handle: volume.id,
      name: volume.name,
      sizeBytes: bytesOf(volume.sizeGib),
      uid: mark.uid,
      cluster: mark.cluster,
      ...(instance === undefined ? {} : { instance }),
    });
    try {
      for (const { id, name, sizeGib } of await api.snapshotsOf(caller, volume.id))
        if (name.startsWith('kedge-'))
          resources.push({ type: 'snapshot', handle: id, name, sizeBytes: bytesOf(sizeGib) });
    } catch (thrown) {
      const { kind, message } = DriverError.from(thrown);
      if (kind !== 'CredentialsRejected') throw thrown;
      warnings.push(`snapshots of volume ${volume.id} can't be listed: ${message}`);
    }
  }
  return { resources, warnings };
}
