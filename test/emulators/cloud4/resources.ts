import type { Action } from '../core/actions.js';
import type { Instance } from '../core/machine.js';

export type Mode = 'READ_WRITE' | 'READ_ONLY';

/** The attachment of a disk to an instance. */
export interface DiskUser {
  /** Zone and name of the instance, as {@link keyOf} has them. */
  readonly instance: string;
  readonly deviceName: string;
  readonly mode: Mode;
  readonly autoDelete: boolean;
}

/** A disk as plain data. */
export interface Disk {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly sizeGib: number;
  readonly type: string;
  readonly labels: Labels;
  readonly description?: string;
  readonly status: 'CREATING' | 'RESTORING' | 'READY' | 'DELETING' | 'UNAVAILABLE';
  readonly createdAt: number;
  readonly users: readonly DiskUser[];
  readonly from?: { readonly name: string; readonly id: string };
  /** The operation that creates or deletes the disk. */
  readonly operation: number;
  /** Number of the next lists from which the disk is missing. */
  readonly lag: number;
}

/** A snapshot as plain data. Snapshots are global. */
export interface Snapshot {
  readonly id: string;
  readonly name: string;
  readonly sizeGib: number;
  /** The path of its disk, which may be deleted. */
  readonly disk: string;
  readonly diskId: string;
  readonly labels: Labels;
  readonly description?: string;
  readonly storageLocations: readonly string[];
  readonly status: 'CREATING' | 'READY' | 'DELETING';
  readonly createdAt: number;
  readonly operation: number;
}

export type Labels = Readonly<Record<string, string>>;

/** An instance. Its place is its zone. */
export interface Server extends Instance {
  readonly id: string;
  readonly createdAt: number;
}

/** The part that all works of operations share. */
interface Common {
  /** Absent for a global operation. */
  readonly zone?: string;
  /** The path of the changed resource, from `projects/`. */
  readonly target: string;
  readonly targetId: string;
  readonly user: string;
  readonly requestId?: string;
  /**
   * Method, path and query without the request id, and name, source and size of the body: a repetition has the same
   * ones.
   */
  readonly request: string;
}

/** The work of an operation. `disk` and `instance` are keys, as {@link keyOf} has them. */
export type Work = Common &
  (
    | { readonly type: 'insert' | 'delete'; readonly disk: string }
    | {
        readonly type: 'attachDisk' | 'detachDisk';
        readonly disk: string;
        readonly use: DiskUser;
      }
    | { readonly type: 'resize'; readonly disk: string; readonly sizeGib: number }
    | { readonly type: 'createSnapshot' | 'deleteSnapshot'; readonly snapshot: string }
    | { readonly type: 'setLabels' }
  );

export type Started = Action<Work>;

export function keyOf(zone: string, name: string): string {
  return `${zone}/${name}`;
}

/** The paths of resources, from `projects/`. */
export class Paths {
  readonly project: string;

  constructor(project: string) {
    this.project = project;
  }

  zone(name: string): string {
    return `projects/${this.project}/zones/${name}`;
  }

  disk({ zone, name }: { readonly zone: string; readonly name: string }): string {
    return `${this.zone(zone)}/disks/${name}`;
  }

  /** The path of an instance with a key. */
  instance(key: string): string {
    const [zone = '', name = ''] = key.split('/');
    return `${this.zone(zone)}/instances/${name}`;
  }

  snapshot(name: string): string {
    return `projects/${this.project}/global/snapshots/${name}`;
  }

  operation({ id, startedAt, work }: Started): string {
    const place = work.zone === undefined ? 'global' : `zones/${work.zone}`;
    return `projects/${this.project}/${place}/operations/${operationName({ id, startedAt })}`;
  }
}

export function operationName({ id, startedAt }: Pick<Started, 'id' | 'startedAt'>): string {
  return `operation-${Math.floor(startedAt)}-${id.toString(16)}`;
}
