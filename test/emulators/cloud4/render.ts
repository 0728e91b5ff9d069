import {
  type Disk,
  type DiskUser,
  keyOf,
  operationName,
  type Server,
  type Snapshot,
  type Started,
} from './resources.js';
import { type DiskType, regionOf } from './rules.js';
import type { State } from './state.js';

type Json = Readonly<Record<string, unknown>>;

const host = 'https://www.googleapis.com/compute/v1/';

/** The full URL of a path from `projects/`. */
export function link(path: string): string {
  return `${host}${path}`;
}

const time = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00');

export function diskForm(state: State, disk: Disk): Json {
  const { id, name, zone, sizeGib, type, labels, description, from, users } = disk;
  const path = state.paths.disk(disk);
  return {
    ...{ kind: 'compute#disk', id, name, sizeGb: String(sizeGib), status: disk.status },
    creationTimestamp: time(disk.createdAt),
    ...(description === undefined ? {} : { description }),
    zone: link(state.paths.zone(zone)),
    type: link(`${state.paths.zone(zone)}/diskTypes/${type}`),
    selfLink: link(path),
    ...(from
      ? { sourceSnapshot: link(state.paths.snapshot(from.name)), sourceSnapshotId: from.id }
      : {}),
    ...(users.length === 0
      ? {}
      : { users: users.map(({ instance }) => link(state.paths.instance(instance))) }),
    ...labelFields(labels),
    ...{ physicalBlockSizeBytes: '4096', enableConfidentialCompute: false },
  };
}

/** Labels are left out if there are none; the fingerprint is always there. */
function labelFields(labels: Readonly<Record<string, string>>): Json {
  const text = JSON.stringify(labels);
  const print = [...text].reduce(
    (sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) % 2 ** 32,
    7,
  );
  const labelFingerprint = Buffer.from(print.toString(16)).toString('base64');
  return { ...(text === '{}' ? {} : { labels }), labelFingerprint };
}

/**
 * The record of a snapshot. While it is created, its status is CREATING at the time of its start, and then UPLOADING.
 */
export function snapshotForm(state: State, snapshot: Snapshot, now: number): Json {
  const { id, name, sizeGib, labels, description, status } = snapshot;
  const uploading = status === 'CREATING' && now > snapshot.createdAt;
  const ready = status === 'READY';
  return {
    ...{ kind: 'compute#snapshot', id, name, status: uploading ? 'UPLOADING' : status },
    creationTimestamp: time(snapshot.createdAt),
    ...(description === undefined ? {} : { description }),
    diskSizeGb: String(sizeGib),
    ...{ sourceDisk: link(snapshot.disk), sourceDiskId: snapshot.diskId },
    ...(ready ? { storageBytes: '0', storageBytesStatus: 'UP_TO_DATE' } : {}),
    storageLocations: snapshot.storageLocations,
    ...labelFields(labels),
    selfLink: link(state.paths.snapshot(name)),
  };
}

const statuses: Readonly<Record<string, number>> = {
  RESOURCE_NOT_FOUND: 404,
  RESOURCE_IN_USE_BY_ANOTHER_RESOURCE: 400,
  QUOTA_EXCEEDED: 403,
  RESOURCE_OPERATION_RATE_EXCEEDED: 403,
  ZONE_RESOURCE_POOL_EXHAUSTED: 503,
};
const texts: Readonly<Record<number, string>> = {
  400: 'BAD REQUEST',
  403: 'FORBIDDEN',
  404: 'NOT FOUND',
  503: 'SERVICE UNAVAILABLE',
};

/** The record of an operation. It is pending at the time of its start. */
export function operationForm(state: State, operation: Started, now: number): Json {
  const { id, work, startedAt, endedAt, failure } = operation;
  const { zone, type } = work;
  const running = operation.status === 'running';
  const waiting = now === startedAt;
  const httpStatus = (failure && statuses[failure.code]) ?? 400;
  return {
    ...{ kind: 'compute#operation', id: String(id), name: operationName(operation) },
    ...(zone === undefined ? {} : { zone: link(state.paths.zone(zone)) }),
    operationType: type === 'deleteSnapshot' ? 'delete' : type,
    ...{ targetLink: link(work.target), targetId: work.targetId, user: work.user },
    status: running ? (waiting ? 'PENDING' : 'RUNNING') : 'DONE',
    progress: running ? 0 : 100,
    insertTime: time(startedAt),
    ...(running && waiting ? {} : { startTime: time(startedAt) }),
    ...(endedAt === undefined ? {} : { endTime: time(endedAt) }),
    ...(operation.status === 'failed' && failure
      ? {
          error: { errors: [failure] },
          httpErrorStatusCode: httpStatus,
          httpErrorMessage: texts[httpStatus],
        }
      : {}),
    selfLink: link(state.paths.operation(operation)),
  };
}

function attachedForm(state: State, disk: Disk, use: DiskUser, index: number): Json {
  return {
    ...{ kind: 'compute#attachedDisk', type: 'PERSISTENT', mode: use.mode, index },
    ...{ source: link(state.paths.disk(disk)), deviceName: use.deviceName },
    ...{ boot: false, autoDelete: use.autoDelete, interface: 'SCSI' },
    diskSizeGb: String(disk.sizeGib),
  };
}

export function instanceForm(state: State, server: Server): Json {
  const { id, name, place: zone } = server;
  const boot = {
    ...{ kind: 'compute#attachedDisk', type: 'PERSISTENT', mode: 'READ_WRITE', index: 0 },
    ...{ source: link(`${state.paths.zone(zone)}/disks/${name}`), deviceName: 'persistent-disk-0' },
    ...{ boot: true, autoDelete: true, interface: 'SCSI', diskSizeGb: '10' },
  };
  const key = keyOf(zone, name);
  const attached = state.attachedTo(key);
  return {
    ...{ kind: 'compute#instance', id, name, status: 'RUNNING' },
    creationTimestamp: time(server.createdAt),
    machineType: link(`${state.paths.zone(zone)}/machineTypes/e2-standard-2`),
    zone: link(state.paths.zone(zone)),
    disks: [boot, ...attached.map(([disk, use], n) => attachedForm(state, disk, use, n + 1))],
    selfLink: link(state.paths.instance(key)),
  };
}

export function zoneForm(state: State, name: string): Json {
  const region = `projects/${state.paths.project}/regions/${regionOf(name)}`;
  return {
    ...{ kind: 'compute#zone', id: '2231', name, description: name, status: 'UP' },
    region: link(region),
    selfLink: link(state.paths.zone(name)),
  };
}

export function diskTypeForm(state: State, zone: string, type: DiskType): Json {
  const { name, description, sizeMin, sizeMax } = type;
  return {
    ...{ kind: 'compute#diskType', id: '30001', name, description },
    validDiskSize: `${sizeMin}GB-${sizeMax}GB`,
    zone: link(state.paths.zone(zone)),
    selfLink: link(`${state.paths.zone(zone)}/diskTypes/${name}`),
    defaultDiskSizeGb: '500',
  };
}
