import type { ProviderResource } from '@kedge/driver-sdk';
import { bytesOf, type Fields } from '@kedge/driver-sdk/provider';
import {
  diskHandle,
  type DiskPath,
  lastPart,
  markOf,
  type Place,
  snapshotHandle,
  type SnapshotPath,
} from './names.js';
import { zoneLabel } from './parameters.js';

/** A disk at the provider. */
export interface CloudDisk extends DiskPath {
  /** Number of the disk. A project has an id and a number, so its path may be written in two ways. */
  readonly id: string | undefined;
  readonly status: string;
  readonly sizeGib: number;
  /** Names of the instances to which it is attached. */
  readonly users: readonly string[];
  readonly description: string;
}

/** A snapshot at the provider. */
export interface CloudSnapshot extends SnapshotPath {
  /** Number of the snapshot, as of a disk. */
  readonly id: string | undefined;
  readonly status: string;
  /** Size of its disk at the time of the snapshot; 0 until the provider reports it. */
  readonly sizeGib: number;
  readonly description: string;
}

/** An instance at the provider. */
export interface CloudInstance {
  readonly name: string;
  /** Its attached disks, by path, with the name that the instance gives to the device, and READ_WRITE or READ_ONLY. */
  readonly disks: readonly {
    readonly source: string;
    readonly deviceName: string;
    readonly mode: string;
  }[];
}

/** Reads a size in GiB. The provider sends 64-bit numbers as strings. */
function sizeOf(fields: Fields, key: string): number {
  const size = Number(fields.id(key));
  return Number.isSafeInteger(size) && size >= 0 ? size : fields.number(key);
}

/** Reads a disk of a zone. @throws DriverError for an unexpected form */
export function diskOf(place: Place, fields: Fields): CloudDisk {
  const { project, zone } = place;
  return {
    project,
    zone,
    id: fields.optionalId('id'),
    name: fields.text('name'),
    status: fields.text('status'),
    sizeGib: sizeOf(fields, 'sizeGb'),
    users: fields.texts('users').map(lastPart),
    description: fields.optionalText('description') ?? '',
  };
}

/** Reads a snapshot of a project. @throws DriverError for an unexpected form */
export function snapshotOf(project: string, fields: Fields): CloudSnapshot {
  return {
    project,
    id: fields.optionalId('id'),
    name: fields.text('name'),
    status: fields.text('status'),
    // The provider omits the size until it has started the snapshot.
    sizeGib: fields.has('diskSizeGb') ? sizeOf(fields, 'diskSizeGb') : 0,
    description: fields.optionalText('description') ?? '',
  };
}

/** Reads an instance. @throws DriverError for an unexpected form */
export function instanceOf(fields: Fields): CloudInstance {
  const disks = fields.has('disks') ? fields.list('disks') : [];
  return {
    name: fields.text('name'),
    disks: disks.map((disk) => ({
      source: disk.optionalText('source') ?? '',
      deviceName: disk.optionalText('deviceName') ?? '',
      mode: disk.optionalText('mode') ?? '',
    })),
  };
}

/** A disk as the listing of resources and an import see it. */
export function diskResource(disk: CloudDisk): ProviderResource {
  const { id, name, sizeGib, description, users, zone } = disk;
  const [instance] = users;
  return {
    type: 'volume',
    handle: diskHandle(disk),
    ...(id === undefined ? {} : { identity: id }),
    name,
    sizeBytes: bytesOf(sizeGib),
    topology: { [zoneLabel]: zone },
    ...markOf(description),
    ...(instance === undefined ? {} : { instance }),
  };
}

/** A snapshot as the listing of resources sees it. */
export function snapshotResource(snapshot: CloudSnapshot): ProviderResource {
  const { id, name, sizeGib, description } = snapshot;
  return {
    type: 'snapshot',
    handle: snapshotHandle(snapshot),
    ...(id === undefined ? {} : { identity: id }),
    name,
    sizeBytes: bytesOf(sizeGib),
    ...markOf(description),
  };
}
