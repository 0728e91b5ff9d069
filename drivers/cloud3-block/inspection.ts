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
  endpointReport,
  packageReport,
  probed,
  withoutCredential,
} from '@kedge/driver-sdk/provider';
import type { Cloud3Api, CloudSnapshot, CloudVolume, Filter } from './api.js';
import { instancesOf } from './instances.js';
import { tagKeys } from './names.js';
import {
  classCallerOf,
  createFields,
  type Ec2Caller,
  regionLabel,
  zoneLabel,
} from './parameters.js';
import { permissions, type Permission } from './permissions.js';
import { attachmentOf, shownName } from './reads.js';
import { ec2Package } from './sdk.js';

const unproven =
  'the provider does not deny it outright; only the call itself shows which resources the permission covers';

function rowOf({ action, needed }: Permission): PermissionReport {
  return { permission: `ec2:${action}`, state: 'unknown', needed };
}

/** Asks whether an action is permitted, without executing it. */
async function tried(
  api: Cloud3Api,
  caller: Ec2Caller,
  { action, dryRun }: Permission,
  row: PermissionReport,
  request: ClassRequest,
): Promise<PermissionReport> {
  const { parameters } = request;
  const created = action === 'CreateVolume' ? createFields(parameters) : {};
  const zone = parameters['availabilityZone'] ?? '';
  // Without a zone the provider refuses the zone first.
  if (action === 'CreateVolume' && zone === '')
    return { ...row, message: 'the class names no availabilityZone to ask for' };
  const input = { ...dryRun, ...created, DryRun: true };
  const whole = action === 'CreateVolume' ? { ...input, AvailabilityZone: zone } : input;
  try {
    await api.client.call(caller, action, whole);
  } catch (thrown) {
    const { kind, message } = DriverError.from(thrown);
    if (/\bDryRunOperation\b/.test(message)) return { ...row, state: 'ok' };
    if (kind === 'PermissionDenied' || kind === 'CredentialsRejected')
      return { ...row, state: 'missing', message };
    return { ...row, message: kind === 'NotFound' ? unproven : message };
  }
  return { ...row, message: 'the endpoint ignored DryRun' };
}

/** The row of the instance of the node; undefined if the lookup fails, which the row of its permission reports. */
async function instanceReport(
  api: Cloud3Api,
  caller: Ec2Caller,
  node: string,
): Promise<PermissionReport | undefined> {
  const found = await instancesOf(api, caller, node).catch(() => undefined);
  if (!found) return undefined;
  const row = { permission: `instance of node ${node}`, needed: 'attaching volumes to the node' };
  if (found.length === 1) return { ...row, state: 'ok' };
  const where = `region ${caller.region} of the account`;
  const message =
    found.length === 0
      ? `${where} has no instance whose id, private DNS name or Name tag is ${node}; give [node] name one of them, or use credentials of its account`
      : `${where} has ${found.length} instances whose private DNS name or Name tag is ${node}: ${found.join(', ')}; give [node] name the id of the right one`;
  return { ...row, state: 'missing', message };
}

/** Reports the permissions of a class's credentials, by reads and by dry runs. */
export async function checkPermissions(
  api: Cloud3Api,
  endpoint: string,
  request: ClassRequest,
): Promise<readonly PermissionReport[]> {
  const rows = permissions.map(rowOf);
  let caller: Ec2Caller;
  try {
    caller = classCallerOf(request);
  } catch (thrown) {
    return withoutCredential('accessKeyId', thrown, rows, 'the check needs credentials');
  }
  const found = packageReport(ec2Package, () => {
    api.client.requireSdk();
  });
  if (found.state !== 'ok')
    return [found, ...rows.map((row) => ({ ...row, message: 'the check needs the package' }))];
  try {
    await api.client.requireCredentials(caller);
  } catch (thrown) {
    return [
      found,
      ...withoutCredential('accessKeyId', thrown, rows, 'the check needs credentials'),
    ];
  }
  const reached = await endpointReport(endpoint, () => api.volume(caller, 'vol-00000000000000000'));
  if (reached.state !== 'ok') {
    const message = 'the endpoint did not answer';
    return [reached, ...rows.map((row) => ({ ...row, message }))];
  }
  const reports: PermissionReport[] = [found, reached];
  for (const permission of permissions) {
    const row = rowOf(permission);
    const { action, dryRun } = permission;
    const report = action.startsWith('Describe')
      ? await probed(row, () => api.client.call(caller, action, dryRun))
      : await tried(api, caller, permission, row, request);
    // A class is complete without an optional permission.
    const isLess = permission.optional === true && report.state === 'missing';
    reports.push(isLess ? { ...report, state: 'unknown' } : report);
  }
  const instance = await instanceReport(api, caller, request.node);
  return instance ? [...reports, instance] : reports;
}

function markOf(
  tags: Readonly<Record<string, string>>,
): Pick<ProviderResource, 'cluster' | 'createdFor'> {
  const { [tagKeys.cluster]: cluster, [tagKeys.object]: createdFor } = tags;
  return {
    ...(cluster === undefined ? {} : { cluster }),
    ...(createdFor === undefined ? {} : { createdFor }),
  };
}

function volumeResource(volume: CloudVolume, region: string): ProviderResource {
  const { id, sizeGib, tags, zone } = volume;
  const uid = tags[tagKeys.uid];
  const instance = attachmentOf(volume)?.instance;
  return {
    type: 'volume',
    handle: id,
    name: shownName(volume),
    sizeBytes: bytesOf(sizeGib),
    topology: { [regionLabel]: region, [zoneLabel]: zone },
    ...markOf(tags),
    ...(uid === undefined ? {} : { uid }),
    ...(instance === undefined ? {} : { instance }),
  };
}

/** The uid of a snapshot is a part of its name; its tag has the uid of its volume. */
function snapshotResource({ id, sizeGib, tags }: CloudSnapshot): ProviderResource {
  const name = tags[tagKeys.name] ?? '';
  const [, uid] = /^kedge-(?!h-)(.+)$/.exec(name) ?? [];
  return {
    type: 'snapshot',
    handle: id,
    name: name === '' ? id : name,
    sizeBytes: bytesOf(sizeGib),
    ...markOf(tags),
    ...(uid === undefined ? {} : { uid }),
  };
}

/**
 * Lists the volumes and snapshots with the tag of the cluster in the region of a class; with `request.all` also those
 * without the tag. One warning names the region. If the credentials may not list snapshots, another warning replaces
 * them.
 */
export async function listResources(
  api: Cloud3Api,
  request: OrphanRequest,
  cluster: string,
): Promise<OrphanListing> {
  const caller = classCallerOf(request);
  const own: readonly Filter[] = [{ Name: `tag:${tagKeys.cluster}`, Values: [cluster] }];
  const filters = request.all ? [] : own;
  const resources = (await api.volumes(caller, filters))
    .filter(({ state }) => state !== 'deleting' && state !== 'deleted')
    .map((one) => volumeResource(one, caller.region));
  const warnings = [
    `region ${caller.region} was searched; another region is searched only with a class that names it`,
  ];
  try {
    const snapshots = await api.snapshots(caller, filters);
    return { resources: [...resources, ...snapshots.map(snapshotResource)], warnings };
  } catch (thrown) {
    const { kind, message } = DriverError.from(thrown);
    if (kind !== 'PermissionDenied') throw thrown;
    return { resources, warnings: [...warnings, `snapshots can't be listed: ${message}`] };
  }
}

/** A volume by its id. @throws DriverError NotFound; other kinds if the provider refuses the call */
export async function findVolume(api: Cloud3Api, request: FindRequest): Promise<ProviderResource> {
  const caller = classCallerOf(request);
  return volumeResource(await api.volume(caller, request.handle), caller.region);
}
