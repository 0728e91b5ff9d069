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
import { areLabels, gib, isName, limits, linkOf, locations } from './rules.js';

/** A volume as plain data. */
export interface Volume {
  readonly id: number;
  readonly name: string;
  readonly location: string;
  readonly sizeGib: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly format: string | null;
  readonly protected: boolean;
  readonly available: boolean;
  readonly createdAt: number;
  /** Id of the server to which the volume is attached. */
  readonly server?: number;
  /** Number of the next lists from which the volume is missing. */
  readonly lag: number;
}

export interface Server extends Instance {
  readonly id: number;
  readonly createdAt: number;
}

/** The work of an action. */
export type Work =
  | { readonly type: 'create'; readonly volume: number }
  | { readonly type: 'attach' | 'detach'; readonly volume: number; readonly server: number }
  | { readonly type: 'resize'; readonly volume: number; readonly sizeGib: number }
  | { readonly type: 'protect'; readonly volume: number; readonly protect: boolean };

/** The fields of a request to create a volume, with checked types. */
export interface VolumeOrder {
  readonly name: string;
  readonly sizeGib: number;
  readonly location?: string;
  readonly server?: number;
  readonly labels?: unknown;
  readonly format?: string;
}

/** The resources and the actions as plain data, for a restart. */
export interface SavedState {
  readonly volumes: readonly Volume[];
  readonly servers: readonly Server[];
  readonly actions: SavedActions<Work>;
  readonly nextVolume: number;
}

export interface StateOptions {
  /** Duration of an action, milliseconds. */
  readonly takesMs: (type: Work['type']) => number;
  /** Maximum number of volumes of the project. */
  readonly volumesMax: number;
  readonly saved?: SavedState;
}

/** The time of a request, and the fault of the action that it starts. */
export interface Timed {
  readonly now: number;
  readonly fate: ActionFate;
}

export type Started = Action<Work>;

const firstServer = 42;
const firstVolume = 4_711;
const firstAction = 13;

/** Volumes, servers and actions of a project of cloud2, without input, output and a clock. */
export class State {
  readonly #options: StateOptions;
  readonly volumes = new Map<number, Volume>();
  readonly servers = new Map<number, Server>();
  readonly actions: ActionTable<Work>;
  readonly #full = new Set<string>();
  #nextVolume: number;
  #changes: DeviceChange[] = [];
  #lag = 0;

  constructor(options: StateOptions) {
    this.#options = options;
    const { saved } = options;
    for (const one of saved?.volumes ?? []) this.volumes.set(one.id, one);
    for (const one of saved?.servers ?? []) this.servers.set(one.id, one);
    this.#nextVolume = saved?.nextVolume ?? firstVolume;
    this.actions = new ActionTable(firstAction, saved?.actions);
    // Their devices may have been lost since the state was saved.
    for (const one of this.volumes.values()) {
      const holder = one.server === undefined ? undefined : this.servers.get(one.server);
      if (holder) this.#changes.push(this.#link('attached', one.id, holder));
    }
  }

  save(): SavedState {
    return {
      volumes: [...this.volumes.values()],
      servers: [...this.servers.values()],
      actions: this.actions.save(),
      nextVolume: this.#nextVolume,
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

  /** Makes a location full, so that it refuses new volumes, or not full again. */
  setFull(location: string, full: boolean): void {
    if (full) this.#full.add(location);
    else this.#full.delete(location);
  }

  addServer(instance: Instance, now: number): Server {
    const id = Math.max(firstServer - 1, ...this.servers.keys()) + 1;
    const server = { ...instance, id, createdAt: now };
    this.servers.set(id, server);
    return server;
  }

  removeServer(id: number): void {
    for (const volume of this.volumes.values()) if (volume.server === id) this.#detach(volume);
    this.servers.delete(id);
  }

  /**
   * Creates a volume, which is `creating` until the action `action` ends. For an order with a server, `next` has the
   * attachment to it.
   * @throws Refusal
   */
  createVolume(
    order: VolumeOrder,
    request: Timed,
  ): { readonly volume: Volume; readonly action: Started; readonly next: readonly Started[] } {
    const { name, sizeGib, labels = {}, format = null } = order;
    if (!isName(name)) throw new Refusal('badInput', 'name');
    this.#requireSize(sizeGib);
    if (!areLabels(labels)) throw new Refusal('badInput', 'labels');
    const location = this.#locationOf(order);
    const all = [...this.volumes.values()];
    if (all.some((one) => one.name === name)) throw new Refusal('nameTaken', 'name');
    if (all.length >= this.#options.volumesMax) throw new Refusal('volumeLimit');
    if (this.#full.has(location)) throw new Refusal('noSpace');
    if (order.server !== undefined) this.#requireServerReady(order.server);
    const id = this.#nextVolume;
    this.#nextVolume += 1;
    const form = { id, name, location, sizeGib, labels, format };
    const since = { createdAt: request.now, lag: this.#lag };
    const volume: Volume = { ...form, ...since, protected: false, available: false };
    this.volumes.set(id, volume);
    this.#changes.push({ type: 'created', volume: String(id), sizeBytes: sizeGib * gib });
    const action = this.#start({ type: 'create', volume: id }, request, []);
    if (order.server === undefined) return { volume, action, next: [] };
    const { server } = order;
    const attach = this.#start({ type: 'attach', volume: id, server }, request, [lock(server)]);
    return { volume, action, next: [attach] };
  }

  /** Returns the volumes of a list. Omits volumes with a lag, and reduces the lag of each by one. */
  listVolumes(fits: (volume: Volume) => boolean): readonly Volume[] {
    const found = [...this.volumes.values()].filter(fits);
    for (const one of found)
      if (one.lag > 0) this.volumes.set(one.id, { ...one, lag: one.lag - 1 });
    return found.filter(({ lag }) => lag === 0);
  }

  /** Returns a volume. @throws Refusal notFound */
  requireVolume(id: number): Volume {
    const volume = this.volumes.get(id);
    if (!volume) throw new Refusal('notFound');
    return volume;
  }

  /** Changes the name or the labels of a volume, and returns the changed one. @throws Refusal */
  updateVolume(id: number, change: { readonly name?: string; readonly labels?: unknown }): Volume {
    const volume = this.requireVolume(id);
    const { name = volume.name, labels = volume.labels } = change;
    if (!isName(name)) throw new Refusal('badInput', 'name');
    if (!areLabels(labels)) throw new Refusal('badInput', 'labels');
    if ([...this.volumes.values()].some((one) => one.name === name && one.id !== id))
      throw new Refusal('nameTaken', 'name');
    const updated = { ...volume, name, labels };
    this.volumes.set(id, updated);
    return updated;
  }

  /** Deletes a detached and unprotected volume. @throws Refusal */
  deleteVolume(id: number): void {
    const volume = this.requireVolume(id);
    if (volume.protected) throw new Refusal('protected');
    if (volume.server !== undefined) throw new Refusal('attachedDelete');
    this.#requireIdle(id);
    this.volumes.delete(id);
    this.#changes.push({ type: 'deleted', volume: String(id) });
  }

  /** Starts the attachment of a volume to a server. @throws Refusal */
  startAttach(id: number, server: number, request: Timed): Started {
    const volume = this.requireVolume(id);
    const found = this.servers.get(server);
    if (!found) throw new Refusal('notFound');
    if (volume.server !== undefined) throw new Refusal('alreadyAttached');
    if (found.place !== volume.location) throw new Refusal('otherLocation');
    this.#requireIdle(id);
    this.#requireServerReady(server);
    return this.#start({ type: 'attach', volume: id, server }, request, [lock(server)]);
  }

  /** Starts the detachment of a volume. @throws Refusal */
  startDetach(id: number, request: Timed): Started {
    const { server } = this.requireVolume(id);
    if (server === undefined) throw new Refusal('notAttached');
    this.#requireIdle(id);
    if (this.actions.holder(lock(server))) throw new Refusal('serverLocked');
    return this.#start({ type: 'detach', volume: id, server }, request, [lock(server)]);
  }

  /** Starts the growth of a volume. @throws Refusal */
  startResize(id: number, sizeGib: number, request: Timed): Started {
    const volume = this.requireVolume(id);
    this.#requireSize(sizeGib);
    if (sizeGib <= volume.sizeGib) throw new Refusal('badInput', 'size');
    this.#requireIdle(id);
    return this.#start({ type: 'resize', volume: id, sizeGib }, request, []);
  }

  /** Starts a change of the protection of a volume from deletion. @throws Refusal */
  startProtection(id: number, protect: boolean, request: Timed): Started {
    this.requireVolume(id);
    this.#requireIdle(id);
    return this.#start({ type: 'protect', volume: id, protect }, request, []);
  }

  /** Performs the work of an action that ends. Returns its failure; undefined if it succeeded. */
  readonly effect = (work: Work): ActionFailure | undefined => {
    const volume = this.volumes.get(work.volume);
    if (!volume) return { code: 'action_failed', message: 'the volume was deleted' };
    switch (work.type) {
      case 'create':
        this.volumes.set(volume.id, { ...volume, available: true });
        return undefined;
      case 'attach': {
        const server = this.servers.get(work.server);
        if (!server) return { code: 'action_failed', message: 'the server was deleted' };
        this.volumes.set(volume.id, { ...volume, server: server.id });
        this.#changes.push(this.#link('attached', volume.id, server));
        return undefined;
      }
      case 'detach':
        this.#detach(volume);
        return undefined;
      case 'resize': {
        const { sizeGib } = work;
        this.volumes.set(volume.id, { ...volume, sizeGib });
        const sizeBytes = sizeGib * gib;
        this.#changes.push({ type: 'resized', volume: String(volume.id), sizeBytes });
        return undefined;
      }
      case 'protect':
        this.volumes.set(volume.id, { ...volume, protected: work.protect });
        return undefined;
    }
  };

  #detach(volume: Volume): void {
    const { server: id, ...free } = volume;
    const server = id === undefined ? undefined : this.servers.get(id);
    this.volumes.set(volume.id, free);
    if (server) this.#changes.push(this.#link('detached', volume.id, server));
  }

  #link(type: 'attached' | 'detached', id: number, { name }: Server): DeviceChange {
    return { type, volume: String(id), instance: name, link: linkOf(id) };
  }

  #start(work: Work, { now, fate }: Timed, locks: readonly string[]): Started {
    const takesMs = this.#options.takesMs(work.type);
    const order = { work, locks: [`volume ${work.volume}`, ...locks], takesMs, fate };
    return this.actions.start(order, now);
  }

  /** Returns the location of an order, or of its server. @throws Refusal if both are absent, unknown or not the same */
  #locationOf({ location, server }: VolumeOrder): string {
    const found = server === undefined ? undefined : this.servers.get(server);
    if (server !== undefined && !found) throw new Refusal('badInput', 'server');
    const name = location ?? found?.place;
    if (!locations.some((one) => one.name === name) || name === undefined)
      throw new Refusal('badInput', 'location');
    if (found && found.place !== name) throw new Refusal('otherLocation');
    return name;
  }

  #requireSize(sizeGib: number): void {
    if (!Number.isInteger(sizeGib) || sizeGib < limits.sizeMin || sizeGib > limits.sizeMax)
      throw new Refusal('badInput', 'size');
  }

  #requireIdle(id: number): void {
    if (this.actions.holder(`volume ${id}`)) throw new Refusal('volumeLocked');
  }

  /** Checks that the server has no running action and fewer than 16 volumes. @throws Refusal */
  #requireServerReady(server: number): void {
    if (this.actions.holder(lock(server))) throw new Refusal('serverLocked');
    const attached = [...this.volumes.values()].filter((one) => one.server === server);
    if (attached.length >= limits.attachedMax) throw new Refusal('attachLimit');
  }
}

function lock(server: number): string {
  return `server ${server}`;
}
