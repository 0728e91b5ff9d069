import { createHash } from 'node:crypto';
import { type ActionFailure, ActionTable, type SavedActions } from '../core/actions.js';
import type { DeviceChange } from '../core/devices.js';
import type { Instance } from '../core/machine.js';
import type {
  Modification,
  Server,
  Snapshot,
  Started,
  Timed,
  UsedToken,
  Volume,
  Work,
} from './records.js';
import { Refusal } from './refusals.js';
import { gib, instanceKinds, isId, limits, linkOf, regionOf } from './rules.js';

/** The resources, the used client tokens and the actions as plain data, for a restart. */
export interface SavedState {
  readonly volumes: readonly Volume[];
  readonly snapshots: readonly Snapshot[];
  readonly servers: readonly Server[];
  readonly modifications: readonly Modification[];
  readonly tokens: readonly UsedToken[];
  readonly actions: SavedActions<Work>;
  readonly nextId: number;
}

export interface StateOptions {
  /** Duration of an action, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** Maximum number of volumes of the account. */
  readonly volumesMax: number;
  /** Maximum number of snapshots of the account. */
  readonly snapshotsMax: number;
  /** The keys for encryption that exist; undefined means every key. */
  readonly kmsKeys?: readonly string[];
  readonly saved?: SavedState;
}

/** Volumes, snapshots, instances and actions of an account of cloud3, without input, output and a clock. */
export class State {
  readonly options: StateOptions;
  readonly volumes = new Map<string, Volume>();
  readonly snapshots = new Map<string, Snapshot>();
  readonly servers = new Map<string, Server>();
  readonly tokens = new Map<string, UsedToken>();
  readonly actions: ActionTable<Work>;
  readonly full = new Set<string>();
  modifications: readonly Modification[];
  /** Number of reads from which resources are missing that are created later. */
  lag = 0;
  readonly #failed = new Set<number>();
  #nextId: number;
  #changes: DeviceChange[] = [];

  constructor(options: StateOptions) {
    this.options = options;
    const { saved } = options;
    for (const one of saved?.volumes ?? []) this.volumes.set(one.id, one);
    for (const one of saved?.snapshots ?? []) this.snapshots.set(one.id, one);
    for (const one of saved?.servers ?? []) this.servers.set(one.id, one);
    for (const one of saved?.tokens ?? []) this.tokens.set(`${one.region} ${one.token}`, one);
    this.modifications = saved?.modifications ?? [];
    this.#nextId = saved?.nextId ?? 1;
    this.actions = new ActionTable(1, saved?.actions);
    for (const { id, status } of this.actions.all) if (status === 'failed') this.#failed.add(id);
    // Their devices may have been lost since the state was saved.
    for (const { id, attachment, root } of this.volumes.values()) {
      const isThere = attachment !== undefined && attachment.state !== 'attaching';
      const server = isThere && !root ? this.servers.get(attachment.instance) : undefined;
      if (server) this.#changes.push(linkChange('attached', id, server));
    }
  }

  save(): SavedState {
    return {
      volumes: [...this.volumes.values()],
      snapshots: [...this.snapshots.values()],
      servers: [...this.servers.values()],
      modifications: this.modifications,
      tokens: [...this.tokens.values()],
      actions: this.actions.save(),
      nextId: this.#nextId,
    };
  }

  takeChanges(): readonly DeviceChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  change(change: DeviceChange): void {
    this.#changes.push(change);
  }

  /** Returns a new id: the prefix, a dash and 17 hexadecimal digits that differ between all ids. */
  newId(prefix: string): string {
    const number = this.#nextId;
    this.#nextId += 1;
    const digits = createHash('sha256').update(`cloud3 ${number}`).digest('hex').slice(0, 16);
    return `${prefix}-0${digits}`;
  }

  put(volume: Volume): Volume {
    this.volumes.set(volume.id, volume);
    return volume;
  }

  /** Starts an action, which holds its locks until it ends. */
  start(work: Work, { now, fate }: Timed, locks: readonly string[], takesMs?: number): Started {
    const ms = takesMs ?? this.options.takesMs(work.type);
    return this.actions.start({ work, locks, takesMs: ms, fate }, now);
  }

  /** Ends the due actions. */
  settle(now: number): void {
    this.actions.settle(now, this.effect);
    this.reap(now);
  }

  /** Undoes what the start of a failed action showed, such as a volume whose creation failed. */
  reap(now: number): void {
    for (const { id, work, status } of this.actions.all) {
      if (status !== 'failed' || this.#failed.has(id)) continue;
      this.#failed.add(id);
      this.#undo(work, now);
    }
  }

  /** Returns a volume of the region, also one that lists do not show yet. @throws Refusal */
  requireVolume(id: string, region: string): Volume {
    if (!isId('vol', id)) throw new Refusal('badVolumeId', id);
    const volume = this.volumes.get(id);
    if (!volume || regionOf(volume.zone) !== region) throw new Refusal('volumeNotFound', id);
    return volume;
  }

  /** Returns a snapshot of the region. @throws Refusal */
  requireSnapshot(id: string, region: string): Snapshot {
    if (!isId('snap', id)) throw new Refusal('badSnapshotId', id);
    const snapshot = this.snapshots.get(id);
    if (snapshot?.region !== region) throw new Refusal('snapshotNotFound', id);
    return snapshot;
  }

  /** Returns an instance of the region, also a terminated one that is still visible. @throws Refusal */
  requireServer(id: string, { region, now }: Timed): Server {
    if (!isId('i', id)) throw new Refusal('badInstanceId', id);
    const server = this.servers.get(id);
    if (!server || regionOf(server.place) !== region || !isVisible(server, now))
      throw new Refusal('instanceNotFound', id);
    return server;
  }

  attachedTo(instance: string): readonly Volume[] {
    return [...this.volumes.values()].filter((one) => one.attachment?.instance === instance);
  }

  /** Adds a running instance with its root volume. Its Name tag is its name, unless the name is an id. */
  addServer(instance: Instance, now: number): Server {
    const { name, place, dnsName, type = 'm5.large' } = instance;
    const id = isId('i', name) ? name : this.newId('i');
    const number = this.servers.size + 11;
    const address = `10.0.${Math.floor(number / 250)}.${number % 250}`;
    const region = regionOf(place);
    const domain = region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`;
    const server: Server = {
      ...{ ...instance, id, address, kind: type in instanceKinds ? type : 'm5.large' },
      privateDns: dnsName ?? `ip-${address.replaceAll('.', '-')}.${domain}`,
      ...{ state: 'running', launchedAt: now },
      tags: isId('i', name) ? {} : { Name: name },
    };
    this.servers.set(id, server);
    this.put({
      ...{ id: this.newId('vol'), zone: place, sizeGib: 8, type: 'gp3', iops: 3_000 },
      ...{
        throughput: 125,
        encrypted: false,
        tags: {},
        state: 'available',
        createdAt: now,
        lag: 0,
      },
      attachment: { instance: id, device: '/dev/xvda', state: 'attached', at: now },
      root: true,
    });
    return server;
  }

  /** Terminates an instance: its root volume is deleted, and other volumes are detached. */
  terminate(id: string, now: number): void {
    const server = this.servers.get(id);
    if (!server) return;
    for (const volume of this.attachedTo(id)) {
      if (volume.root) this.volumes.delete(volume.id);
      else this.#detach(volume, server);
    }
    this.servers.set(id, { ...server, state: 'terminated', terminatedAt: now });
  }

  /** Performs the work of an action that ends. Returns its failure; undefined if it succeeded. */
  readonly effect = (work: Work): ActionFailure | undefined => {
    if (work.type === 'snapshot') {
      const snapshot = this.snapshots.get(work.snapshot);
      if (snapshot) this.snapshots.set(snapshot.id, { ...snapshot, state: 'completed' });
      return undefined;
    }
    const volume = this.volumes.get(work.volume);
    if (!volume) return { code: 'InvalidVolume.NotFound', message: 'the volume was deleted' };
    switch (work.type) {
      case 'create':
        return this.#finishCreate(volume);
      case 'delete':
        this.volumes.delete(volume.id);
        this.change({ type: 'deleted', volume: volume.id });
        return undefined;
      case 'attach':
        return this.#finishAttach(volume, work.instance);
      case 'detach': {
        const server = this.servers.get(work.instance);
        if (server && volume.attachment?.instance === server.id) this.#detach(volume, server);
        return undefined;
      }
      case 'modify':
        return this.#grow(volume);
      case 'optimize':
        this.#endModification(volume.id, 'optimizing', 'completed');
        return undefined;
    }
  };

  #finishCreate(volume: Volume): ActionFailure | undefined {
    const { kmsKeys } = this.options;
    const { kmsKey } = volume;
    if (kmsKey !== undefined && kmsKeys !== undefined && !kmsKeys.includes(kmsKey))
      return { code: 'KMS.NotFound', message: 'the key does not exist' };
    this.put({ ...volume, state: 'available' });
    return undefined;
  }

  #finishAttach(volume: Volume, instance: string): ActionFailure | undefined {
    const server = this.servers.get(instance);
    const { attachment } = volume;
    if (server?.state !== 'running' || attachment?.instance !== instance)
      return { code: 'IncorrectState', message: 'the instance or the attachment is gone' };
    this.put({ ...volume, attachment: { ...attachment, state: 'attached' } });
    this.change(linkChange('attached', volume.id, server));
    return undefined;
  }

  /** The new size counts from the state `optimizing`. */
  #grow(volume: Volume): ActionFailure | undefined {
    const running = this.modifications.find(
      (one) => one.volume === volume.id && one.state === 'modifying',
    );
    if (!running) return { code: 'IncorrectModificationState', message: 'nothing is modified' };
    const { to } = running;
    // Another type may have no provisioned speed.
    const { iops: _, throughput: __, ...kept } = volume;
    this.put({ ...kept, ...to });
    if (to.sizeGib !== volume.sizeGib)
      this.change({ type: 'resized', volume: volume.id, sizeBytes: to.sizeGib * gib });
    this.#endModification(volume.id, 'modifying', 'optimizing');
    return undefined;
  }

  #endModification(
    volume: string,
    from: Modification['state'],
    to: Modification['state'],
    endedAt?: number,
  ): void {
    this.modifications = this.modifications.map((one) => {
      if (one.volume !== volume || one.state !== from) return one;
      return { ...one, state: to, ...(endedAt === undefined ? {} : { endedAt }) };
    });
  }

  #undo(work: Work, now: number): void {
    if (work.type === 'snapshot') {
      const snapshot = this.snapshots.get(work.snapshot);
      if (snapshot) this.snapshots.set(snapshot.id, { ...snapshot, state: 'error' });
      return;
    }
    const volume = this.volumes.get(work.volume);
    if (!volume) return;
    // A volume whose creation fails disappears, and its client token can't be used again.
    if (work.type === 'create') {
      this.volumes.delete(volume.id);
      this.change({ type: 'deleted', volume: volume.id });
    } else if (work.type === 'attach') {
      const { attachment: _, ...free } = volume;
      this.put(free);
    } else if (work.type === 'modify') this.#endModification(volume.id, 'modifying', 'failed', now);
    else if (work.type === 'delete') this.put({ ...volume, state: 'error' });
    else if (work.type === 'detach' && volume.attachment)
      this.put({ ...volume, attachment: { ...volume.attachment, state: 'attached' } });
  }

  /** Ends an attachment. */
  #detach(volume: Volume, server: Server): void {
    const { attachment, ...free } = volume;
    this.put(free);
    if (attachment && attachment.state !== 'attaching')
      this.change(linkChange('detached', volume.id, server));
  }
}

/** Whether an instance is in the answers of the provider. */
export function isVisible({ terminatedAt }: Server, now: number): boolean {
  return terminatedAt === undefined || now < terminatedAt + limits.terminatedMs;
}

function linkChange(type: 'attached' | 'detached', volume: string, { name }: Server): DeviceChange {
  return { type, volume, instance: name, link: linkOf(volume) };
}
