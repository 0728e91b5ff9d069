import type { Random } from 'kedge';
import {
  type Action,
  type ActionFailure,
  type ActionFate,
  ActionTable,
  type SavedActions,
} from '../core/actions.js';
import type { DeviceChange } from '../core/devices.js';
import type { Instance } from '../core/machine.js';
import { Refusal } from './refusals.js';
import { gib, isVolumeName, limits, linkOf, regions } from './rules.js';

/** A volume as plain data. */
export interface Volume {
  readonly id: string;
  readonly name: string;
  readonly region: string;
  readonly sizeGib: number;
  readonly description: string;
  readonly tags: readonly string[];
  readonly fileSystem: string;
  readonly label: string;
  readonly createdAt: number;
  /** Id of the droplet to which the volume is attached. */
  readonly droplet?: number;
  /** Number of the next lists from which the volume is missing. */
  readonly lag: number;
}

export interface Snapshot {
  readonly id: string;
  readonly name: string;
  readonly region: string;
  readonly volume: string;
  readonly sizeGib: number;
  readonly tags: readonly string[];
  readonly createdAt: number;
}

export interface Droplet extends Instance {
  readonly id: number;
  readonly createdAt: number;
}

/** The work of an action. */
export type Work =
  | { readonly type: 'attach' | 'detach'; readonly volume: string; readonly droplet: number }
  | { readonly type: 'resize'; readonly volume: string; readonly sizeGib: number };

/** The fields of a request to create a volume, with checked types. */
export interface VolumeOrder {
  readonly name: string;
  readonly region: string | undefined;
  readonly sizeGib: number;
  readonly snapshot?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly fileSystem?: string;
  readonly label?: string;
}

/** The resources and the actions as plain data, for a restart. */
export interface SavedState {
  readonly volumes: readonly Volume[];
  readonly snapshots: readonly Snapshot[];
  readonly droplets: readonly Droplet[];
  readonly actions: SavedActions<Work>;
}

export interface StateOptions {
  readonly random: Random;
  /** Duration of an action, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** Maximum number of volumes of the account. */
  readonly volumesMax: number;
  readonly saved?: SavedState;
}

const firstDroplet = 3_164_444;
const firstAction = 36_804_636;

/** Volumes, snapshots, droplets and actions of cloud1, without input, output and a clock. */
export class State {
  readonly #options: StateOptions;
  readonly volumes = new Map<string, Volume>();
  readonly snapshots = new Map<string, Snapshot>();
  readonly droplets = new Map<number, Droplet>();
  readonly actions: ActionTable<Work>;
  readonly #full = new Set<string>();
  #changes: DeviceChange[] = [];
  #lag = 0;

  constructor(options: StateOptions) {
    this.#options = options;
    const { saved } = options;
    for (const one of saved?.volumes ?? []) this.volumes.set(one.id, one);
    for (const one of saved?.snapshots ?? []) this.snapshots.set(one.id, one);
    for (const one of saved?.droplets ?? []) this.droplets.set(one.id, one);
    this.actions = new ActionTable(firstAction, saved?.actions);
    // Their devices may have been lost since the state was saved.
    for (const one of this.volumes.values()) {
      const holder = one.droplet === undefined ? undefined : this.droplets.get(one.droplet);
      if (holder) this.#changes.push(this.#link('attached', one, holder));
    }
  }

  save(): SavedState {
    return {
      volumes: [...this.volumes.values()],
      snapshots: [...this.snapshots.values()],
      droplets: [...this.droplets.values()],
      actions: this.actions.save(),
    };
  }

  takeChanges(): readonly DeviceChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  settle(now: number): void {
    this.actions.settle(now, this.effect);
  }

  lagLists(reads: number): void {
    this.#lag = reads;
  }

  /** Makes a region full, so that it refuses new volumes, or not full again. */
  setFull(region: string, full: boolean): void {
    if (full) this.#full.add(region);
    else this.#full.delete(region);
  }

  addDroplet(instance: Instance, now: number): Droplet {
    const id = Math.max(firstDroplet - 1, ...this.droplets.keys()) + 1;
    const droplet = { ...instance, id, createdAt: now };
    this.droplets.set(id, droplet);
    return droplet;
  }

  removeDroplet(id: number): void {
    this.#requireDroplet(id, 'notFound');
    for (const volume of this.volumes.values()) if (volume.droplet === id) this.#detach(volume);
    this.droplets.delete(id);
  }

  /** Creates a volume at once. @throws Refusal */
  createVolume(order: VolumeOrder, now: number): Volume {
    const source = order.snapshot === undefined ? undefined : this.snapshots.get(order.snapshot);
    if (!isVolumeName(order.name)) throw new Refusal('badName');
    if (order.sizeGib < limits.sizeMin || order.sizeGib > limits.sizeMax)
      throw new Refusal('badSize');
    if (order.snapshot !== undefined && !source) throw new Refusal('noSnapshot');
    const region = order.region;
    if (!regions.some(({ slug }) => slug === region) || region === undefined)
      throw new Refusal('badRegion');
    if (source && source.region !== region) throw new Refusal('snapshotRegion');
    const { fileSystem = '', label = '' } = order;
    const labelMax = fileSystem === 'xfs' ? limits.labelMax.xfs : limits.labelMax.ext4;
    if (label.length > labelMax) throw new Refusal('badLabel');
    const all = [...this.volumes.values()];
    if (all.some((one) => one.name === order.name && one.region === region))
      throw new Refusal('nameTaken');
    if (all.length >= this.#options.volumesMax || this.#full.has(region))
      throw new Refusal('capacity');
    const volume: Volume = {
      id: this.#options.random.uuid(),
      name: order.name,
      region,
      // A size "does not apply when creating from a snapshot".
      sizeGib: source?.sizeGib ?? order.sizeGib,
      description: order.description ?? '',
      tags: order.tags ?? [],
      fileSystem,
      label,
      createdAt: now,
      lag: this.#lag,
    };
    this.volumes.set(volume.id, volume);
    const sizeBytes = volume.sizeGib * gib;
    const from = source ? { from: source.id } : {};
    this.#changes.push({ type: 'created', volume: volume.id, sizeBytes, ...from });
    return volume;
  }

  /** Returns the volumes of a list, the oldest first. Omits volumes with a lag, and reduces the lag of each by one. */
  listVolumes(name: string | undefined, region: string | undefined): readonly Volume[] {
    const found = [...this.volumes.values()].filter(
      (one) =>
        (name === undefined || one.name === name) &&
        (region === undefined || one.region === region),
    );
    for (const one of found)
      if (one.lag > 0) this.volumes.set(one.id, { ...one, lag: one.lag - 1 });
    return found.filter(({ lag }) => lag === 0);
  }

  /** Returns a volume. @throws Refusal notFound */
  requireVolume(id: string): Volume {
    const volume = this.volumes.get(id);
    if (!volume) throw new Refusal('notFound');
    return volume;
  }

  /** Deletes a detached volume. @throws Refusal */
  deleteVolume(id: string): void {
    const volume = this.requireVolume(id);
    if (volume.droplet !== undefined) throw new Refusal('attachedDelete');
    if (this.actions.holder(id)) throw new Refusal('volumeBusy');
    this.volumes.delete(id);
    this.#changes.push({ type: 'deleted', volume: id });
  }

  /** Starts the attachment of a volume to a droplet. @throws Refusal */
  startAttach(id: string, droplet: number, region: string | undefined, request: Timed): Started {
    const volume = this.#requireVolumeIn(id, region);
    const { place } = this.#requireDroplet(droplet, 'noDroplet');
    if (volume.droplet !== undefined) throw new Refusal('alreadyAttached');
    if (place !== volume.region) throw new Refusal('otherRegion');
    this.#requireIdle(volume, droplet);
    const attached = [...this.volumes.values()].filter((one) => one.droplet === droplet);
    if (attached.length >= limits.attachedMax) throw new Refusal('attachLimit');
    return this.#start({ type: 'attach', volume: id, droplet }, request, droplet);
  }

  /** Starts the detachment of a volume. @throws Refusal */
  startDetach(id: string, droplet: number, region: string | undefined, request: Timed): Started {
    const volume = this.#requireVolumeIn(id, region);
    if (volume.droplet !== droplet) throw new Refusal('notAttached');
    this.#requireIdle(volume, droplet);
    return this.#start({ type: 'detach', volume: id, droplet }, request, droplet);
  }

  /** Starts the growth of a volume. @throws Refusal */
  startResize(id: string, sizeGib: number, region: string | undefined, request: Timed): Started {
    const volume = this.#requireVolumeIn(id, region);
    if (sizeGib > limits.sizeMax) throw new Refusal('badSize');
    if (sizeGib <= volume.sizeGib) throw new Refusal('notLarger');
    this.#requireIdle(volume, volume.droplet);
    return this.#start({ type: 'resize', volume: id, sizeGib }, request, volume.droplet);
  }

  /** Creates a snapshot of a volume at once. @throws Refusal */
  createSnapshot(id: string, name: string, tags: readonly string[], now: number): Snapshot {
    const volume = this.requireVolume(id);
    if ([...this.snapshots.values()].some((one) => one.name === name))
      throw new Refusal('snapshotNameTaken');
    const { region, sizeGib } = volume;
    const snapshot = { id: this.#options.random.uuid(), name, region, sizeGib, tags };
    const made: Snapshot = { ...snapshot, volume: id, createdAt: now };
    this.snapshots.set(made.id, made);
    this.#changes.push({ type: 'snapshotted', volume: id, snapshot: made.id });
    return made;
  }

  /** Returns a snapshot. @throws Refusal notFound */
  requireSnapshot(id: string): Snapshot {
    const snapshot = this.snapshots.get(id);
    if (!snapshot) throw new Refusal('notFound');
    return snapshot;
  }

  /** Deletes a snapshot. @throws Refusal notFound */
  deleteSnapshot(id: string): void {
    this.requireSnapshot(id);
    this.snapshots.delete(id);
    this.#changes.push({ type: 'snapshotDeleted', snapshot: id });
  }

  /** Performs the work of an action that ends. Returns its failure; undefined if it succeeded. */
  readonly effect = (work: Work): ActionFailure | undefined => {
    const volume = this.volumes.get(work.volume);
    if (!volume) return { code: 'gone', message: 'the volume was deleted' };
    switch (work.type) {
      case 'attach': {
        const droplet = this.droplets.get(work.droplet);
        if (!droplet) return { code: 'gone', message: 'the droplet was destroyed' };
        this.volumes.set(volume.id, { ...volume, droplet: droplet.id });
        this.#changes.push(this.#link('attached', volume, droplet));
        return undefined;
      }
      case 'detach':
        this.#detach(volume);
        return undefined;
      case 'resize': {
        const { sizeGib } = work;
        this.volumes.set(volume.id, { ...volume, sizeGib });
        const sizeBytes = sizeGib * gib;
        this.#changes.push({ type: 'resized', volume: volume.id, sizeBytes });
        return undefined;
      }
    }
  };

  #detach(volume: Volume): void {
    const { droplet: id, ...free } = volume;
    const droplet = id === undefined ? undefined : this.droplets.get(id);
    this.volumes.set(volume.id, free);
    if (droplet) this.#changes.push(this.#link('detached', volume, droplet));
  }

  #link(type: 'attached' | 'detached', { id, name }: Volume, droplet: Droplet): DeviceChange {
    return { type, volume: id, instance: droplet.name, link: linkOf(name) };
  }

  #start(work: Work, { now, fate }: Timed, droplet: number | undefined): Started {
    const locks = [work.volume, ...(droplet === undefined ? [] : [dropletLock(droplet)])];
    const takesMs = this.#options.takesMs(work.type);
    return this.actions.start({ work, locks, takesMs, fate }, now);
  }

  #requireVolumeIn(id: string, region: string | undefined): Volume {
    const volume = this.requireVolume(id);
    if (region !== undefined && region !== volume.region) throw new Refusal('badRegion');
    return volume;
  }

  #requireDroplet(id: number, refusal: 'notFound' | 'noDroplet'): Droplet {
    const droplet = this.droplets.get(id);
    if (!droplet) throw new Refusal(refusal);
    return droplet;
  }

  /** Checks that no action on the volume or the droplet is running. @throws Refusal */
  #requireIdle({ id }: Volume, droplet: number | undefined): void {
    if (droplet !== undefined && this.actions.holder(dropletLock(droplet)))
      throw new Refusal('pendingEvent');
    if (this.actions.holder(id)) throw new Refusal('volumeBusy');
  }
}

export type Started = Action<Work>;

/** The time of a request, and the fault of the action that it starts. */
export interface Timed {
  readonly now: number;
  readonly fate: ActionFate;
}

function dropletLock(id: number): string {
  return `droplet ${id}`;
}
