import type { ClassRequest, PermissionReport } from '@kedge/driver-sdk';
import { type Caller, endpointReport, probed, withoutCredential } from '@kedge/driver-sdk/provider';
import type { Cloud1Api } from './api.js';
import { allScopes } from './credentials.js';
import { classCallerOf } from './requests.js';

const absentId = '00000000-0000-0000-0000-000000000000';
const noToken = 'the check needs a token';

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

/** The row of the Droplet of the node; undefined if the lookup fails, which the row of `droplet:read` reports. */
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

/** Reports the endpoint, the scopes of a class's token and the Droplet of the node, by reads alone. */
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
