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
  endpointReport,
  packageReport,
  probed,
  withoutCredential,
} from '@kedge/driver-sdk/provider';
import { isProjectMissing } from './errors.js';
import { type CloudDisk, type CloudInstance, diskResource, snapshotResource } from './resources.js';
import {
  diskHandle,
  type DiskPath,
  diskPathOf,
  isResourceName,
  noInstance,
  type Place,
} from './names.js';
import {
  allPermissions,
  diskPermissions,
  instancePermissions,
  type Permission,
  readPermissions,
  unprovenPermissions,
} from './permissions.js';
import { ifFound, type Requests } from './requests.js';
import { computePackage } from './sdk.js';
import type { Caller } from './session.js';

/** The name of resources that do not exist, for reads that show a permission. */
const absentName = 'kedge-check-no-such-resource';

const row = (
  { permission, needed }: Permission,
  state: PermissionReport['state'],
  message?: string,
): PermissionReport => ({
  permission,
  state,
  needed,
  ...(message === undefined ? {} : { message }),
});

/** The dependencies of a check. */
export interface CheckParts {
  readonly requests: Requests;
  readonly endpoint: string;
  /** Loads the SDK. @throws DriverError if it can't be loaded */
  readonly sdk: () => unknown;
}

/** Reports the permissions of a class's credential, by reads and by the provider's own tests of permissions. */
export async function checkPermissions(
  { requests, endpoint, sdk }: CheckParts,
  request: ClassRequest,
): Promise<readonly PermissionReport[]> {
  let caller: Caller;
  try {
    caller = requests.classCallerOf(request);
  } catch (thrown) {
    const unknown = allPermissions.map((each) => row(each, 'unknown'));
    return withoutCredential('credentialsJSON', thrown, unknown, 'the check needs a credential');
  }
  const unknown = (message: string): readonly PermissionReport[] =>
    allPermissions.map((each) => row(each, 'unknown', message));
  const loaded = packageReport(computePackage, sdk);
  if (loaded.state !== 'ok') return [loaded, ...unknown('the check needs the package')];
  return [loaded, ...(await checkPlace({ requests, endpoint, caller, unknown }, request))];
}

/** The dependencies of the part of a check that asks the provider. */
interface PlaceParts extends Pick<CheckParts, 'requests' | 'endpoint'> {
  readonly caller: Caller;
  /** The rows of all permissions if none was asked for. */
  readonly unknown: (message: string) => readonly PermissionReport[];
}

async function checkPlace(
  { requests, endpoint, caller, unknown }: PlaceParts,
  request: ClassRequest,
): Promise<readonly PermissionReport[]> {
  const { zone = '' } = request.parameters;
  const withoutProject = ({ message }: DriverError): readonly PermissionReport[] => {
    const missing = { permission: 'parameter project', needed: 'every call of the provider' };
    return [{ ...missing, state: 'missing', message }, ...unknown('the check needs a project')];
  };
  let project: string;
  try {
    project = await requests.projectOf(request);
  } catch (thrown) {
    return withoutProject(DriverError.from(thrown));
  }
  if (zone === '')
    return unknown('the class names no zone; add parameter zone to check its permissions');
  const place = { project, zone };
  let failed: DriverError | undefined;
  const reached = await endpointReport(endpoint, async () => {
    try {
      await requests.api.disk(caller, { ...place, name: absentName });
    } catch (thrown) {
      failed = DriverError.from(thrown);
      throw thrown;
    }
  });
  if (reached.state !== 'ok') return [reached, ...unknown('the endpoint did not answer')];
  if (failed && isProjectMissing(failed)) return [reached, ...withoutProject(failed)];
  return [reached, ...(await testPermissions(requests, caller, place, request.node))];
}

async function testPermissions(
  { api }: Requests,
  caller: Caller,
  place: Place,
  node: string,
): Promise<readonly PermissionReport[]> {
  const { project, zone } = place;
  const operations = `projects/${project}/zones/${zone}/operations/${absentName}`;
  const globals = `projects/${project}/global/operations/${absentName}`;
  let instance: CloudInstance | undefined;
  const found = await probed(readPermissions.instance, async () => {
    const name = isResourceName(node) ? node : absentName;
    instance = await api.instance(caller, place, name);
  });
  const instances = await testedOn(instancePermissions, instance?.name, (name, permissions) =>
    api.instancePermissions(caller, place, name, permissions),
  );
  const [boot] = instance?.disks ?? [];
  const disk = diskPathOf(boot?.source ?? '') ?? { ...place, name: absentName };
  return [
    ...(await diskReports(
      (permissions) => api.diskPermissions(caller, disk, permissions),
      disk.name !== absentName,
      () => api.disk(caller, { ...place, name: absentName }),
    )),
    ...instances,
    found,
    await probed(readPermissions.zoneOperation, () => api.operationState(caller, operations)),
    await probed(readPermissions.globalOperation, () => api.operationState(caller, globals)),
    await probed(readPermissions.snapshot, () =>
      api.snapshot(caller, { project, name: absentName }),
    ),
    ...unprovenPermissions.map((each) =>
      row(each, 'unknown', 'the provider has no test of this permission that changes nothing'),
    ),
    ...(found.state === 'ok' ? [nodeReport(node, place, instance)] : []),
  ];
}

/** The rows of permissions that the provider tests on a resource. */
async function testedOn(
  permissions: readonly Permission[],
  name: string | undefined,
  test: (name: string, permissions: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly PermissionReport[]> {
  const all = (message: string): readonly PermissionReport[] =>
    permissions.map((each) => row(each, 'unknown', message));
  if (name === undefined)
    return all('the provider tests this on the instance of the node, which was not found');
  try {
    const granted = await test(
      name,
      permissions.map(({ permission }) => permission),
    );
    return permissions.map((each) =>
      row(each, granted.includes(each.permission) ? 'ok' : 'missing'),
    );
  } catch (thrown) {
    return all(DriverError.from(thrown).message);
  }
}

/**
 * The rows of permissions on disks. Permissions of the project apply to every disk, so that any disk of the project
 * shows them. If the tested disk does not exist, an empty answer shows nothing, and only the read shows what it needs.
 */
async function diskReports(
  test: (permissions: readonly string[]) => Promise<readonly string[]>,
  exists: boolean,
  read: () => Promise<unknown>,
): Promise<readonly PermissionReport[]> {
  const names = diskPermissions.map(({ permission }) => permission);
  let granted: readonly string[] = [];
  let message =
    'the provider tests this on a disk, and the instance of the node has none or was not found';
  try {
    granted = await test(names);
  } catch (thrown) {
    message = DriverError.from(thrown).message;
  }
  const isKnown = exists ? granted.length > 0 || message === '' : granted.length > 0;
  const rows: PermissionReport[] = [];
  for (const each of diskPermissions) {
    if (granted.includes(each.permission)) rows.push(row(each, 'ok'));
    else if (each.permission === 'compute.disks.get') rows.push(await probed(each, read));
    else rows.push(isKnown ? row(each, 'missing') : row(each, 'unknown', message));
  }
  return rows;
}

/** Reports whether the node has an instance in the zone of the class. */
function nodeReport(
  node: string,
  place: Place,
  instance: CloudInstance | undefined,
): PermissionReport {
  const permission = `instance of node ${node}`;
  const needed = 'attaching volumes to the node';
  if (instance) return { permission, needed, state: 'ok' };
  return { permission, needed, state: 'missing', message: noInstance(node, place) };
}

/**
 * Lists the disks in the zone of a class and the snapshots of its project that have the mark of the cluster; with
 * `request.all` also those without the mark. One warning names the zone. If the credential may not list disks or
 * snapshots, another warning replaces them.
 */
export async function listResources(
  requests: Requests,
  request: OrphanRequest,
): Promise<OrphanListing> {
  const caller = requests.classCallerOf(request);
  const project = await requests.projectOf(request);
  const { zone = '' } = request.parameters;
  const warnings: string[] = [];
  const listed = async <T>(
    what: string,
    list: () => Promise<readonly T[]>,
  ): Promise<readonly T[]> =>
    list().catch((thrown: unknown) => {
      const { kind, message } = DriverError.from(thrown);
      if (kind !== 'CredentialsRejected' && kind !== 'PermissionDenied') throw thrown;
      warnings.push(`${what} can't be listed: ${message}`);
      return [];
    });
  if (zone === '')
    warnings.push("disks can't be listed: the class names no zone; add parameter zone to it");
  const disksOf = async (): Promise<readonly CloudDisk[]> => {
    const disks = await requests.api.disks(caller, { project, zone });
    warnings.push(
      `zone ${zone} of project ${project} was searched for disks; another zone is searched only with a class that names it`,
    );
    return disks;
  };
  const disks = zone === '' ? [] : await listed(`disks of zone ${zone}`, disksOf);
  const snapshots = await listed('snapshots', () => requests.api.snapshots(caller, project));
  const resources = [...disks.map(diskResource), ...snapshots.map(snapshotResource)];
  const own = ({ cluster }: ProviderResource): boolean => cluster === requests.cluster;
  return { resources: request.all ? resources : resources.filter(own), warnings };
}

/**
 * A disk by its handle, or by its name in the zone of the class.
 * @throws DriverError NotFound; other kinds if the provider refuses the call
 */
export async function findDisk(
  requests: Requests,
  request: FindRequest,
): Promise<ProviderResource> {
  const caller = requests.classCallerOf(request);
  const path = diskPathOf(request.handle) ?? (await pathInClass(requests, request));
  const found = await ifFound(requests.api.disk(caller, path));
  if (found) return diskResource(found);
  throw new DriverError('NotFound', `Google Cloud has no disk ${diskHandle(path)}`);
}

async function pathInClass(requests: Requests, request: FindRequest): Promise<DiskPath> {
  const { zone = '' } = request.parameters;
  const { handle: name } = request;
  if (zone !== '' && isResourceName(name))
    return { project: await requests.projectOf(request), zone, name };
  throw new DriverError(
    'NotFound',
    `${name} names no disk; use projects/<project>/zones/<zone>/disks/<name>, or the name of a disk in the zone of the class`,
  );
}
