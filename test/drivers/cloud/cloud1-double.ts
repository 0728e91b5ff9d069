import { randomUUID } from 'node:crypto';
import { LoopDisks } from './loop-disks.js';
import { type Played, PlayedHttp, type Received } from './played-http.js';

interface Volume {
  readonly id: string;
  readonly name: string;
  readonly region: string;
  readonly description: string;
  size: number;
  droplet?: number | undefined;
  device?: string | undefined;
}

interface Snapshot {
  readonly id: string;
  readonly name: string;
  readonly volume: string;
  readonly region: string;
  readonly size: number;
}

const gib = 1024 ** 3;
/** The scopes of specification section 2.5. */
export const fiveScopes = [
  'block_storage:create',
  'block_storage:read',
  'block_storage:delete',
  'block_storage_action:create',
  'actions:read',
  'droplet:read',
  'block_storage_snapshot:create',
  'block_storage_snapshot:read',
  'block_storage_snapshot:delete',
];

const refused = (status: number, id: string, message: string): Played => ({
  status,
  body: { id, message },
  headers: { 'x-request-id': randomUUID() },
});
const notFound = refused(404, 'not_found', 'The resource you requested could not be found.');

/** DigitalOcean as the driver's tests need it, written for them alone. Actions take some milliseconds. */
export class Cloud1Double extends PlayedHttp {
  readonly disks: LoopDisks;
  readonly volumes = new Map<string, Volume>();
  readonly snapshots = new Map<string, Snapshot>();
  /** By name; each has a directory of links. */
  readonly droplets = new Map<string, number>();
  readonly tokens = new Map<string, readonly string[]>();
  /** Whether attached volumes get loop devices. */
  devices = true;
  actionMs = 10;
  /** Whether listed volumes are shown. */
  lags = false;
  readonly #actions = new Map<number, { status: string; readonly droplet: number | undefined }>();
  #next = 1_000;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    super();
    this.disks = new LoopDisks(folder);
  }

  inventory(): readonly string[] {
    return [...this.volumes.keys(), ...this.snapshots.keys()];
  }

  #allowed(scope: string, { token }: Received): Played | undefined {
    const scopes = this.tokens.get(token);
    if (!scopes) return refused(401, 'unauthorized', 'Unable to authenticate you');
    if (scopes.includes(scope)) return undefined;
    return refused(403, 'forbidden', 'You do not have access for the attempted action.');
  }

  #shown(volume: Volume): object {
    const { id, name, region, size, description, droplet } = volume;
    return {
      id,
      name,
      description,
      size_gigabytes: size,
      region: { slug: region, name: region, available: true, features: [], sizes: [] },
      droplet_ids: droplet === undefined ? null : [droplet],
      tags: null,
      created_at: '2026-01-01T00:00:00Z',
    };
  }

  #snapshot({ id, name, volume, region, size }: Snapshot): object {
    return {
      id,
      name,
      resource_id: volume,
      resource_type: 'volume',
      regions: [region],
      min_disk_size: size,
      size_gigabytes: 0,
      created_at: '2026-01-01T00:00:00Z',
      tags: null,
    };
  }

  /** Two entries a page. */
  #page(key: string, all: readonly object[], { query }: Received): Played {
    const page = Number(query['page'] ?? '1');
    const pages = page * 2 < all.length ? { pages: { next: 'http://elsewhere.test/' } } : {};
    const entries = all.slice((page - 1) * 2, page * 2);
    return { status: 200, body: { [key]: entries, links: pages, meta: { total: all.length } } };
  }

  protected async answer(received: Received): Promise<Played> {
    const { method, path, query, body } = received;
    const [, , kind = '', first = '', second = ''] = path.split('/');
    const route = `${method} ${kind}`;
    if (route === 'GET actions')
      return this.#allowed('actions:read', received) ?? this.#action(Number(first));
    if (route === 'GET droplets') {
      const named = [...this.droplets].filter(
        ([name]) => name.toLowerCase() === query['name']?.toLowerCase() && query['type'] !== 'gpus',
      );
      const shown = named.map(([name, id]) => ({ id, name }));
      return this.#allowed('droplet:read', received) ?? this.#page('droplets', shown, received);
    }
    if (kind !== 'volumes') return notFound;
    if (first === 'snapshots') return this.#snapshotCall(received, second);
    if (first === '') return method === 'POST' ? this.#create(received) : this.#list(received);
    const volume = this.volumes.get(first);
    if (second === 'snapshots') return this.#snapshotsOf(received, volume);
    if (second === 'actions')
      return this.#allowed('block_storage_action:create', received) ?? this.#act(volume, body);
    if (method === 'GET')
      return (
        this.#allowed('block_storage:read', received) ??
        (volume ? { status: 200, body: { volume: this.#shown(volume) } } : notFound)
      );
    const no = this.#allowed('block_storage:delete', received);
    if (no || !volume) return no ?? notFound;
    if (volume.droplet !== undefined)
      return refused(409, 'conflict', 'attached volume cannot be deleted');
    this.volumes.delete(first);
    await this.disks.remove(first);
    return { status: 204 };
  }

  #list(received: Received): Played {
    const { name, region } = received.query;
    const found = [...this.volumes.values()].filter(
      (one) => (name ?? one.name) === one.name && (region ?? one.region) === one.region,
    );
    const shown = this.lags ? [] : found.map((one) => this.#shown(one));
    return this.#allowed('block_storage:read', received) ?? this.#page('volumes', shown, received);
  }

  /** One at a time: names are unique. */
  #create(received: Received): Promise<Played> {
    const created = this.#tail.then(() => this.#createAlone(received));
    this.#tail = created.catch(() => undefined);
    return created;
  }

  async #createAlone(received: Received): Promise<Played> {
    const no = this.#allowed('block_storage:create', received);
    if (no) return no;
    const { name, region, size_gigabytes, description, snapshot_id } = received.body as {
      readonly [key: string]: string;
    };
    for (const volume of this.volumes.values())
      if (volume.name === name && volume.region === region)
        return refused(409, 'conflict', 'volume with the name already exists');
    const id = randomUUID();
    const source = this.snapshots.get(snapshot_id ?? '');
    if (snapshot_id !== undefined && !source) return notFound;
    const size = source?.size ?? Number(size_gigabytes);
    const volume = { id, name: name!, region: region!, description: description!, size };
    if (source) await this.disks.copy(source.id, id);
    else await this.disks.create(id, size * gib);
    this.volumes.set(id, volume);
    return { status: 201, body: { volume: this.#shown(volume) } };
  }

  #action(id: number): Played {
    const action = this.#actions.get(id);
    if (!action) return notFound;
    return { status: 200, body: { action: { id, type: 'x', status: action.status } } };
  }

  #act(volume: Volume | undefined, body: Received['body']): Played {
    if (!volume) return notFound;
    const wanted = body as { type: string; droplet_id?: number; size_gigabytes?: number };
    const droplet = wanted.droplet_id ?? volume.droplet;
    for (const { status, droplet: other } of this.#actions.values())
      if (status === 'in-progress' && other !== undefined && other === droplet)
        return refused(422, 'unprocessable_entity', 'Droplet already has a pending event.');
    if (wanted.type === 'attach' && volume.droplet !== undefined)
      return refused(422, 'unprocessable_entity', 'This volume is already attached');
    if (wanted.type === 'detach' && volume.droplet !== droplet)
      return refused(422, 'unprocessable_entity', 'Attachment not found');
    const id = (this.#next += 1);
    const action = { status: 'in-progress', droplet };
    this.#actions.set(id, action);
    const end = async (): Promise<void> => {
      await this.#effect(volume, wanted);
      action.status = 'completed';
    };
    setTimeout(() => void end(), this.actionMs);
    const shown = { id, type: wanted.type, status: 'in-progress', resource_id: null };
    return { status: 202, body: { action: shown } };
  }

  async #effect(
    volume: Volume,
    {
      type,
      droplet_id,
      size_gigabytes = 0,
    }: { type: string; droplet_id?: number; size_gigabytes?: number },
  ): Promise<void> {
    const link = `scsi-0DO_Volume_${volume.name}`;
    const machine = String(type === 'attach' ? droplet_id : volume.droplet);
    switch (type) {
      case 'attach':
        if (this.devices) volume.device = await this.disks.attach(volume.id, machine, link);
        volume.droplet = droplet_id;
        return;
      case 'detach':
        if (this.devices) await this.disks.detach(volume.id, machine, link);
        volume.device = undefined;
        volume.droplet = undefined;
        return;
      default:
        await this.disks.grow(volume.id, size_gigabytes * gib, volume.device);
        volume.size = size_gigabytes;
    }
  }

  async #snapshotsOf(received: Received, volume: Volume | undefined): Promise<Played> {
    const what = received.method === 'POST' ? 'create' : 'read';
    const no = this.#allowed(`block_storage_snapshot:${what}`, received);
    if (no || !volume) return no ?? notFound;
    const mine = [...this.snapshots.values()].filter((one) => one.volume === volume.id);
    const shown = mine.map((one) => this.#snapshot(one));
    if (what === 'read') return this.#page('snapshots', shown, received);
    const name = String(received.body['name']);
    if (mine.some((one) => one.name === name))
      return refused(409, 'conflict', 'snapshot with the name already exists');
    const { region, size } = volume;
    const made = { id: randomUUID(), name, volume: volume.id, region, size };
    await this.disks.copy(volume.id, made.id);
    this.snapshots.set(made.id, made);
    return { status: 201, body: { snapshot: this.#snapshot(made) } };
  }

  async #snapshotCall(received: Received, id: string): Promise<Played> {
    const what = received.method === 'DELETE' ? 'delete' : 'read';
    const no = this.#allowed(`block_storage_snapshot:${what}`, received);
    const found = this.snapshots.get(id);
    if (no || !found) return no ?? notFound;
    if (what === 'read') return { status: 200, body: { snapshot: this.#snapshot(found) } };
    this.snapshots.delete(id);
    await this.disks.remove(id);
    return { status: 204 };
  }
}
