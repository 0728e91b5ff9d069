import { type ActionFate, ActionTable, type SavedActions } from '../core/actions.js';
import type { DeviceChange } from '../core/devices.js';
import type { Instance } from '../core/machine.js';
import { Refusal } from './refusals.js';
import {
  type Disk,
  type DiskUser,
  keyOf,
  operationName,
  Paths,
  type Server,
  type Snapshot,
  type Started,
  type Work,
} from './resources.js';
import { linkOf } from './rules.js';

/** The resources and the operations as plain data, for a restart. */
export interface SavedState {
  readonly disks: readonly Disk[];
  readonly servers: readonly Server[];
  readonly snapshots: readonly Snapshot[];
  readonly actions: SavedActions<Work>;
  readonly nextId: number;
}

export interface StateOptions {
  readonly project: string;
  /** Duration of an operation, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** The quota of a region for each kind of disks, in GiB. */
  readonly quotaGib: number;
  /** Maximum number of disks of an instance, without its boot disk. */
  readonly attachedMax: number;
  readonly saved?: SavedState;
}

/** The parts of a request that starts an operation. */
export interface Timed {
  readonly now: number;
  readonly fate: ActionFate;
  /** The account that sent it. */
  readonly user: string;
  readonly requestId?: string;
  /** See {@link Work}. */
  readonly request: string;
}

/** The parts of a work that its request does not have. */
type Own<T> = T extends Work ? Omit<T, 'user' | 'requestId' | 'request'> : never;
export type OwnWork = Own<Work>;

const firstId = 4_000_000_000_000_001;
const firstAction = 7_000_001;

/** Disks, instances, snapshots and operations of one project of cloud4, without input, output and a clock. */
export class State {
  readonly options: StateOptions;
  readonly paths: Paths;
  readonly disks = new Map<string, Disk>();
  readonly servers = new Map<string, Server>();
  readonly snapshots = new Map<string, Snapshot>();
  readonly actions: ActionTable<Work>;
  /** Zones without capacity for new disks. */
  readonly full = new Set<string>();
  /** Number of lists from which a new disk is missing. */
  lag = 0;
  #nextId: number;
  #changes: DeviceChange[] = [];

  constructor(options: StateOptions) {
    this.options = options;
    this.paths = new Paths(options.project);
    const { saved } = options;
    for (const one of saved?.disks ?? []) this.putDisk(one);
    for (const one of saved?.servers ?? []) this.servers.set(keyOf(one.place, one.name), one);
    for (const one of saved?.snapshots ?? []) this.snapshots.set(one.name, one);
    this.#nextId = saved?.nextId ?? firstId;
    this.actions = new ActionTable(firstAction, saved?.actions);
    // Their devices may have been lost since the state was saved.
    for (const disk of this.disks.values())
      for (const use of disk.users) this.changed(this.link('attached', disk, use));
  }

  save(): SavedState {
    return {
      disks: [...this.disks.values()],
      servers: [...this.servers.values()],
      snapshots: [...this.snapshots.values()],
      actions: this.actions.save(),
      nextId: this.#nextId,
    };
  }

  takeChanges(): readonly DeviceChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  changed(change: DeviceChange): void {
    this.#changes.push(change);
  }

  addServer(instance: Instance, now: number): void {
    const server = { ...instance, id: this.newId(), createdAt: now };
    this.servers.set(keyOf(instance.place, instance.name), server);
  }

  removeServer(key: string): void {
    for (const [disk, use] of this.attachedTo(key)) this.detach(disk, use);
    this.servers.delete(key);
  }

  /** Returns a disk by its name or its id, like the provider. @throws Refusal notFound */
  requireDisk(zone: string, name: string): Disk {
    const byId = (): Disk | undefined =>
      [...this.disks.values()].find((one) => one.zone === zone && one.id === name);
    const disk = this.disks.get(keyOf(zone, name)) ?? byId();
    if (!disk) throw new Refusal('notFound', this.paths.disk({ zone, name }));
    return disk;
  }

  /** Returns an instance by its name or its id. @throws Refusal notFound */
  requireServer(zone: string, name: string): Server {
    const byId = (): Server | undefined =>
      [...this.servers.values()].find((one) => one.place === zone && one.id === name);
    const server = this.servers.get(keyOf(zone, name)) ?? byId();
    if (!server) throw new Refusal('notFound', this.paths.instance(keyOf(zone, name)));
    return server;
  }

  /** Returns a snapshot by its name or its id. @throws Refusal notFound */
  requireSnapshot(name: string): Snapshot {
    const byId = (): Snapshot | undefined =>
      [...this.snapshots.values()].find(({ id }) => id === name);
    const snapshot = this.snapshots.get(name) ?? byId();
    if (!snapshot) throw new Refusal('notFound', this.paths.snapshot(name));
    return snapshot;
  }

  /** Returns an operation of a zone, or a global one, by its name or its id. @throws Refusal notFound */
  requireOperation(zone: string | undefined, name: string): Started {
    const found = this.actions.all.find(
      (one) => one.work.zone === zone && (operationName(one) === name || String(one.id) === name),
    );
    const place = zone === undefined ? 'global' : `zones/${zone}`;
    if (found) return found;
    throw new Refusal('notFound', `projects/${this.paths.project}/${place}/operations/${name}`);
  }

  /** Returns the operation that an earlier request with the same id started. @throws Refusal for another request */
  repeated(requestId: string, request: string): Started | undefined {
    const found = this.actions.all.find(({ work }) => work.requestId === requestId);
    if (found && found.work.request !== request)
      throw new Refusal('invalid', 'requestId', requestId, 'It belongs to another request.');
    return found;
  }

  /** Returns the disks of a list. Omits disks with a lag, and reduces the lag of each by one. */
  listDisks(zone: string): readonly Disk[] {
    const found = [...this.disks.values()].filter((one) => one.zone === zone);
    for (const one of found) if (one.lag > 0) this.putDisk({ ...one, lag: one.lag - 1 });
    return found.filter(({ lag }) => lag === 0);
  }

  /** The disks of an instance, with their uses. */
  attachedTo(instance: string): readonly (readonly [Disk, DiskUser])[] {
    return [...this.disks.values()].flatMap((disk) =>
      disk.users.filter((use) => use.instance === instance).map((use) => [disk, use] as const),
    );
  }

  /** Starts an operation. */
  start(work: OwnWork, request: Timed, locks: readonly string[]): Started {
    const { now, fate, user, requestId, request: text } = request;
    const asked = { user, request: text, ...(requestId === undefined ? {} : { requestId }) };
    const takesMs = this.options.takesMs(work.type);
    return this.actions.start({ work: { ...work, ...asked }, locks, takesMs, fate }, now);
  }

  putDisk(disk: Disk): void {
    this.disks.set(keyOf(disk.zone, disk.name), disk);
  }

  dropSnapshot({ name, id }: Snapshot): void {
    this.snapshots.delete(name);
    this.changed({ type: 'snapshotDeleted', snapshot: id });
  }

  attach(disk: Disk, use: DiskUser): void {
    this.putDisk({ ...disk, users: [...disk.users, use] });
    this.changed(this.link('attached', disk, use));
  }

  detach(disk: Disk, { instance }: DiskUser): void {
    const use = disk.users.find((one) => one.instance === instance);
    if (!use) return;
    this.putDisk({ ...disk, users: disk.users.filter((one) => one !== use) });
    this.changed(this.link('detached', disk, use));
  }

  newId(): string {
    const id = this.#nextId;
    this.#nextId += 1;
    return String(id);
  }

  link(type: 'attached' | 'detached', { id }: Disk, use: DiskUser): DeviceChange {
    const [, name = ''] = use.instance.split('/');
    return { type, volume: id, instance: name, link: linkOf(use.deviceName) };
  }
}

/** The lock of an operation on a disk. Instances that only read it have locks of their own. */
export function lockOf(disk: Disk, use?: DiskUser): string {
  const lock = `disk ${keyOf(disk.zone, disk.name)}`;
  return use?.mode === 'READ_ONLY' ? `${lock} of ${use.instance}` : lock;
}
