import type {
  ClassRequest,
  FindRequest,
  OrphanListing,
  OrphanRequest,
  PermissionReport,
  ProviderResource,
} from '@kedge/driver-sdk';
import {
  bytesOf,
  type Caller,
  endpointReport,
  probed,
  withoutCredential,
} from '@kedge/driver-sdk/provider';
import type { Cloud2Api, CloudVolume } from './api.js';
import { labelKeys, labelValue } from './names.js';
import { classCallerOf } from './requests.js';

const read: PermissionReport = {
  permission: 'Read',
  state: 'unknown',
  needed: 'observing volumes and finding the server of a node',
};
const write: PermissionReport = {
  permission: 'Read & Write',
  state: 'unknown',
  needed: 'provisioning, attaching, detaching, growing and deleting volumes',
};

/**
 * Checks the endpoint, the token of a class and the server of the node by a call that only reads. The permission to
 * write is `unknown`, or `missing` if that to read is missing.
 */
export async function checkToken(
  api: Cloud2Api,
  endpoint: string,
  request: ClassRequest,
): Promise<readonly PermissionReport[]> {
  let caller: Caller;
  try {
    caller = classCallerOf(request);
  } catch (thrown) {
    return withoutCredential('apiToken', thrown, [read, write], 'the check needs a token');
  }
  const { node } = request;
  let found: number | undefined;
  const servers = async (): Promise<void> => {
    found = (await api.serversNamed(caller, node)).length;
  };
  const reached = await endpointReport(endpoint, servers);
  if (reached.state !== 'ok') {
    const message = 'the endpoint did not answer';
    return [reached, { ...read, message }, { ...write, message }];
  }
  const reads = await probed(read, servers);
  const writes = reads.state === 'missing' ? { ...write, state: reads.state } : write;
  return [reached, reads, writes, ...(found === undefined ? [] : [serverReport(node, found)])];
}

function serverReport(node: string, found: number): PermissionReport {
  const row = { permission: `server of node ${node}`, needed: 'attaching volumes to the node' };
  if (found === 1) return { ...row, state: 'ok' };
  const message = `the project of the token has ${found === 0 ? 'no server' : `${found} servers`} named ${node}; give [node] name the name of its server, or use a token of its project`;
  return { ...row, state: 'missing', message };
}

function volumeResource(volume: CloudVolume, label: string): ProviderResource {
  const { id, name, sizeGib, server, labels, location } = volume;
  const uid = labels[labelKeys.uid];
  const cluster = labels[labelKeys.cluster];
  return {
    type: 'volume',
    handle: id,
    name,
    sizeBytes: bytesOf(sizeGib),
    topology: { [label]: location },
    ...(cluster === undefined ? {} : { cluster }),
    ...(uid === undefined ? {} : { uid }),
    ...(server === undefined ? {} : { instance: server }),
  };
}

/**
 * Lists the volumes of the project with the label of the cluster, in all locations; with `request.all` also those
 * without the label.
 */
export async function listResources(
  api: Cloud2Api,
  request: OrphanRequest,
  cluster: string,
  label: string,
): Promise<OrphanListing> {
  const own = { label_selector: `${labelKeys.cluster}==${labelValue(cluster)}` };
  const found = await api.volumes(classCallerOf(request), request.all ? {} : own);
  return { resources: found.map((one) => volumeResource(one, label)), warnings: [] };
}

/** A volume by its id. @throws DriverError NotFound; other kinds if the provider refuses the call */
export async function findVolume(
  api: Cloud2Api,
  request: FindRequest,
  label: string,
): Promise<ProviderResource> {
  return volumeResource(await api.volume(classCallerOf(request), request.handle), label);
}
