import type { ActionFailure } from '../core/actions.js';
import { failures, filled } from './refusals.js';
import { type Disk, type DiskUser, keyOf, type Work } from './resources.js';
import { gib } from './rules.js';
import type { State } from './state.js';

/** Returns a failure of an operation, with the names of the resources in its message. */
export function failureOf(
  name: keyof typeof failures,
  ...values: readonly string[]
): ActionFailure {
  const { code, message } = failures[name];
  return { code, message: filled(message, values) };
}

/** Returns an instance that excludes a use of the disk; undefined if there is none. */
export function conflictOf(disk: Disk, use: DiskUser): string | undefined {
  const excludes = (one: DiskUser): boolean =>
    one.instance === use.instance || one.mode === 'READ_WRITE' || use.mode === 'READ_WRITE';
  return disk.users.find(excludes)?.instance;
}

/** Ends the due operations, and takes back what failed ones had shown. */
export function settle(state: State, now: number): void {
  state.actions.settle(now, (work) => effectOf(state, work));
  undoFailed(state);
}

/** Ends a running operation with its effect, even if it is stuck. */
export function finish(state: State, id: number, now: number): void {
  state.actions.finish(id, now, (work) => effectOf(state, work));
}

/** Performs the work of an operation that ends. Returns its failure; undefined if it succeeded. */
function effectOf(state: State, work: Work): ActionFailure | undefined {
  switch (work.type) {
    case 'setLabels':
      return undefined;
    case 'createSnapshot':
    case 'deleteSnapshot': {
      const snapshot = state.snapshots.get(work.snapshot);
      if (!snapshot) return failureOf('notFound', work.target);
      if (work.type === 'deleteSnapshot') state.dropSnapshot(snapshot);
      else state.snapshots.set(snapshot.name, { ...snapshot, status: 'READY' });
      return undefined;
    }
    default: {
      const disk = state.disks.get(work.disk);
      if (!disk) return failureOf('notFound', work.target);
      return diskEffect(state, work, disk);
    }
  }
}

function diskEffect(
  state: State,
  work: Extract<Work, { readonly disk: string }>,
  disk: Disk,
): ActionFailure | undefined {
  const { id: volume } = disk;
  switch (work.type) {
    case 'insert': {
      const from = disk.from === undefined ? {} : { from: disk.from.id };
      state.putDisk({ ...disk, status: 'READY' });
      state.changed({ type: 'created', volume, sizeBytes: disk.sizeGib * gib, ...from });
      return undefined;
    }
    case 'delete':
      state.disks.delete(work.disk);
      state.changed({ type: 'deleted', volume });
      return undefined;
    case 'resize':
      state.putDisk({ ...disk, sizeGib: work.sizeGib });
      state.changed({ type: 'resized', volume, sizeBytes: work.sizeGib * gib });
      return undefined;
    case 'attachDisk': {
      const instance = state.paths.instance(work.use.instance);
      const holder = conflictOf(disk, work.use);
      if (holder !== undefined)
        return failureOf('inUse', state.paths.disk(disk), state.paths.instance(holder));
      if (!state.servers.has(work.use.instance)) return failureOf('notFound', instance);
      state.attach(disk, work.use);
      return undefined;
    }
    case 'detachDisk':
      state.detach(disk, work.use);
      return undefined;
  }
}

/** Takes back what the start of an operation showed, if the operation failed. */
function undoFailed(state: State): void {
  const failed = (id: number): boolean => state.actions.get(id)?.status === 'failed';
  for (const disk of state.disks.values()) {
    if (disk.status === 'READY' || !failed(disk.operation)) continue;
    if (disk.status === 'DELETING') state.putDisk({ ...disk, status: 'READY' });
    else state.disks.delete(keyOf(disk.zone, disk.name));
  }
  for (const snapshot of state.snapshots.values()) {
    if (snapshot.status === 'READY' || !failed(snapshot.operation)) continue;
    if (snapshot.status === 'CREATING') state.dropSnapshot(snapshot);
    else state.snapshots.set(snapshot.name, { ...snapshot, status: 'READY' });
  }
}
