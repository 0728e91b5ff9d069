import { conflictOf, failureOf } from './effects.js';
import { Refusal } from './refusals.js';
import {
  type Disk,
  type DiskUser,
  keyOf,
  type Labels,
  type Server,
  type Snapshot,
  type Started,
} from './resources.js';
import { diskTypes, limits, regionOf } from './rules.js';
import { lockOf, type State, type Timed } from './state.js';

/** The fields of a request for a disk, with checked forms. */
export interface DiskOrder {
  readonly name: string;
  readonly zone: string;
  readonly sizeGib?: number;
  readonly type: string;
  readonly labels: Labels;
  readonly description?: string;
  /** The name of a snapshot. */
  readonly snapshot?: string;
}

const hourMs = 3_600_000;

/** Starts the creation of a disk. In a zone without capacity the operation fails. @throws Refusal */
export function startInsert(state: State, order: DiskOrder, request: Timed): Started {
  const { name, zone, type, labels, description } = order;
  const target = state.paths.disk(order);
  if (state.disks.has(keyOf(zone, name))) throw new Refusal('exists', target);
  const snapshot = order.snapshot === undefined ? undefined : usable(state, order.snapshot);
  const sizeGib = order.sizeGib ?? snapshot?.sizeGib ?? limits.sizeDefault;
  requireSize(type, sizeGib, snapshot);
  requireQuota(state, { zone, type, sizeGib });
  const id = state.newId();
  const noRoom = failureOf('capacity', state.paths.zone(zone));
  const fate = state.full.has(zone) ? { ...request.fate, fails: noRoom } : request.fate;
  const work = { type: 'insert', disk: keyOf(zone, name), zone, target, targetId: id } as const;
  const form = { id, name, zone, sizeGib, type, labels, users: [], createdAt: request.now };
  const lock = `disk ${work.disk}`;
  const started = state.start(work, { ...request, fate }, [lock]);
  state.putDisk({
    ...form,
    ...(description === undefined ? {} : { description }),
    ...(snapshot ? { from: { name: snapshot.name, id: snapshot.id } } : {}),
    status: snapshot ? 'RESTORING' : 'CREATING',
    operation: started.id,
    lag: state.lag,
  });
  return started;
}

/** Starts the deletion of a disk without users. @throws Refusal */
export function startDelete(state: State, disk: Disk, request: Timed): Started {
  const [user] = disk.users;
  if (user) throw inUse(state, disk, user.instance);
  requireReady(state, disk);
  const started = state.start({ type: 'delete', ...onDisk(state, disk) }, request, [lockOf(disk)]);
  state.putDisk({ ...disk, status: 'DELETING', operation: started.id });
  return started;
}

/** Starts the growth of a disk, which may be attached. @throws Refusal */
export function startResize(
  state: State,
  disk: Disk,
  { sizeGib, request }: { readonly sizeGib: number; readonly request: Timed },
): Started {
  if (sizeGib <= disk.sizeGib) {
    const why = `New disk size '${sizeGib}' GiB must be larger than existing size '${disk.sizeGib}' GiB.`;
    throw new Refusal('invalid', 'sizeGb', String(sizeGib), why);
  }
  requireSize(disk.type, sizeGib);
  requireQuota(state, { ...disk, sizeGib: sizeGib - disk.sizeGib });
  requireReady(state, disk);
  const work = { type: 'resize', sizeGib, ...onDisk(state, disk) } as const;
  return state.start(work, request, [lockOf(disk)]);
}

/** Starts an attachment. The disk and the instance are in one zone. @throws Refusal */
export function startAttach(state: State, disk: Disk, use: DiskUser, request: Timed): Started {
  const holder = conflictOf(disk, use);
  if (holder !== undefined) throw inUse(state, disk, holder);
  const attached = state.attachedTo(use.instance);
  const { attachedMax } = state.options;
  if (attached.some(([, one]) => one.deviceName === use.deviceName))
    throw new Refusal('invalid', 'resource.deviceName', use.deviceName, 'It is already in use.');
  if (attached.length >= attachedMax)
    throw new Refusal('attachLimit', state.paths.instance(use.instance), String(attachedMax + 1));
  if (disk.users.length >= limits.readersMax)
    throw new Refusal('attachLimit', state.paths.disk(disk), String(limits.readersMax));
  requireReady(state, disk, use);
  return startOfInstance(state, { type: 'attachDisk', disk, use }, request);
}

/** Starts the detachment of the disk with a device name. @throws Refusal */
export function startDetach(
  state: State,
  server: Server,
  { deviceName, request }: { readonly deviceName: string; readonly request: Timed },
): Started {
  const attached = state.attachedTo(keyOf(server.place, server.name));
  const [disk, use] = attached.find(([, one]) => one.deviceName === deviceName) ?? [];
  if (!disk || !use) throw new Refusal('noDevice', deviceName, deviceName);
  requireReady(state, disk, use);
  return startOfInstance(state, { type: 'detachDisk', disk, use }, request);
}

/**
 * Starts a snapshot with the content of this moment. Too many of one disk within an hour make the operation fail.
 * @throws Refusal
 */
export function startSnapshot(
  state: State,
  disk: Disk,
  order: Pick<Snapshot, 'name' | 'labels' | 'description' | 'storageLocations'>,
  request: Timed & { readonly zone?: string },
): Started {
  const { name } = order;
  const target = state.paths.snapshot(name);
  if (state.snapshots.has(name)) throw new Refusal('exists', target);
  requireReady(state, disk);
  const id = state.newId();
  const recent = [...state.snapshots.values()].filter(
    (one) => one.diskId === disk.id && one.createdAt > request.now - hourMs,
  );
  const tooOften = failureOf('tooOften', state.paths.disk(disk));
  const often = recent.length >= limits.snapshotsPerHour;
  const fate = often ? { ...request.fate, fails: tooOften } : request.fate;
  const zone = request.zone === undefined ? {} : { zone: request.zone };
  const work = { type: 'createSnapshot', snapshot: name, target, targetId: id, ...zone } as const;
  const started = state.start(work, { ...request, fate }, [target]);
  const of = { id, disk: state.paths.disk(disk), diskId: disk.id, sizeGib: disk.sizeGib };
  const since = { createdAt: request.now, operation: started.id, status: 'CREATING' } as const;
  state.snapshots.set(name, { ...order, ...of, ...since });
  state.changed({ type: 'snapshotted', volume: disk.id, snapshot: id });
  return started;
}

/** Starts the deletion of a snapshot. @throws Refusal */
export function startSnapshotDeletion(state: State, snapshot: Snapshot, request: Timed): Started {
  const { name, id: targetId } = snapshot;
  const target = state.paths.snapshot(name);
  if (state.actions.holder(target)) throw new Refusal('notReady', target);
  const work = { type: 'deleteSnapshot', snapshot: name, target, targetId } as const;
  const started = state.start(work, request, [target]);
  state.snapshots.set(name, { ...snapshot, status: 'DELETING', operation: started.id });
  return started;
}

/** Changes labels at once, and starts the operation that reports it. */
export function startLabels(
  state: State,
  resource: Disk | Snapshot,
  { labels, request }: { readonly labels: Labels; readonly request: Timed },
): Started {
  const work = { type: 'setLabels', targetId: resource.id } as const;
  if ('zone' in resource) {
    state.putDisk({ ...resource, labels });
    const { zone } = resource;
    return state.start({ ...work, zone, target: state.paths.disk(resource) }, request, []);
  }
  state.snapshots.set(resource.name, { ...resource, labels });
  return state.start({ ...work, target: state.paths.snapshot(resource.name) }, request, []);
}

function onDisk(state: State, disk: Disk) {
  const { zone, id: targetId } = disk;
  return { disk: keyOf(zone, disk.name), zone, target: state.paths.disk(disk), targetId };
}

/** Starts an attachment or a detachment, unless too many of the instance have not ended. @throws Refusal */
function startOfInstance(
  state: State,
  work: {
    readonly type: 'attachDisk' | 'detachDisk';
    readonly disk: Disk;
    readonly use: DiskUser;
  },
  request: Timed,
): Started {
  const { type, disk, use } = work;
  const target = state.paths.instance(use.instance);
  const pending = state.actions.all.filter(
    (one) => one.status === 'running' && one.work.target === target,
  );
  if (pending.length >= limits.pendingMax) throw new Refusal('pending', target);
  const targetId = state.servers.get(use.instance)?.id ?? '';
  const of = { ...onDisk(state, disk), target, targetId };
  return state.start({ type, use, ...of }, request, [lockOf(disk, use)]);
}

function inUse(state: State, disk: Disk, instance: string): Refusal {
  return new Refusal('inUse', state.paths.disk(disk), state.paths.instance(instance));
}

/** Checks that the disk exists completely and that no operation works on it. @throws Refusal */
function requireReady(state: State, disk: Disk, use?: DiskUser): void {
  const busy = state.actions.holder(lockOf(disk)) ?? state.actions.holder(lockOf(disk, use));
  if (disk.status !== 'READY' || busy) throw new Refusal('notReady', state.paths.disk(disk));
}

function usable(state: State, name: string): Snapshot {
  const snapshot = state.requireSnapshot(name);
  if (snapshot.status !== 'READY') throw new Refusal('notReady', state.paths.snapshot(name));
  return snapshot;
}

function requireSize(type: string, sizeGib: number, snapshot?: Snapshot): void {
  const invalid = (why: string): Refusal =>
    new Refusal('invalid', 'resource.sizeGb', String(sizeGib), why);
  const form = diskTypes.find(({ name }) => name === type);
  if (snapshot && sizeGib < snapshot.sizeGib)
    throw invalid(
      `Requested disk size cannot be smaller than the snapshot size (${snapshot.sizeGib} GB)`,
    );
  if (form && sizeGib < form.sizeMin)
    throw invalid(`Disk size cannot be smaller than ${form.sizeMin} GB.`);
  if (form && sizeGib > form.sizeMax)
    throw invalid(`Disk size cannot be larger than ${form.sizeMax} GB.`);
}

/** Checks that the quota of the region allows one more disk of the size. @throws Refusal */
function requireQuota(
  state: State,
  more: { readonly zone: string; readonly type: string; readonly sizeGib: number },
): void {
  const quotaOf = (type: string): string | undefined =>
    diskTypes.find(({ name }) => name === type)?.quota;
  const quota = quotaOf(more.type);
  const region = regionOf(more.zone);
  const used = [...state.disks.values()]
    .filter(({ zone, type }) => regionOf(zone) === region && quotaOf(type) === quota)
    .reduce((sum, { sizeGib }) => sum + sizeGib, 0);
  const { quotaGib } = state.options;
  if (used + more.sizeGib > quotaGib)
    throw new Refusal('quota', quota ?? '', quotaGib.toFixed(1), region);
}
