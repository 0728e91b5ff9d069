import { LoopDisks } from './loop-disks.js';
import { type Played, PlayedHttp, type Received } from './played-http.js';

interface Volume {
  readonly id: number;
  readonly name: string;
  readonly location: string;
  readonly labels: object;
  size: number;
  status: 'creating' | 'available';
  server: number | null;
  device?: string | undefined;
  protected?: boolean;
}

const gib = 1024 ** 3;

const refused = (status: number, code: string, message: string): Played => ({
  status,
  body: { error: { code, message } },
});
const notFound = refused(404, 'not_found', 'resource not found');

/** Hetzner Cloud as the driver's tests need it, written for them alone. Actions take some milliseconds. */
export class Cloud2Double extends PlayedHttp {
  readonly disks: LoopDisks;
  readonly volumes = new Map<number, Volume>();
  readonly servers = new Map<string, { readonly id: number; readonly location: string }>();
  readonly tokens = new Map<string, 'read' | 'write'>();
  /** Whether attached volumes get loop devices. */
  devices = true;
  actionMs = 10;
  /** The end of the next actions. */
  outcome: 'success' | 'error' = 'success';
  readonly #actions = new Map<number, { status: string; readonly server: number | null }>();
  #next = 4_700;

  constructor(folder: string) {
    super();
    this.disks = new LoopDisks(folder);
  }

  inventory(): readonly string[] {
    return [...this.volumes.keys()].map(String);
  }

  #shown(volume: Volume): object {
    const { id, name, location, size, status, server, labels } = volume;
    return {
      id,
      name,
      size,
      status,
      server,
      labels,
      location: { name: location },
      linux_device: `/dev/disk/by-id/scsi-0HC_Volume_${id}`,
      protection: { delete: volume.protected === true },
      format: null,
      created: '2026-01-01T00:00:00Z',
    };
  }

  /** Two entries a page. */
  #page(key: string, all: readonly object[], { query }: Received): Played {
    const page = Number(query['page'] ?? '1');
    const next_page = page * 2 < all.length ? page + 1 : null;
    const entries = all.slice((page - 1) * 2, page * 2);
    return { status: 200, body: { [key]: entries, meta: { pagination: { page, next_page } } } };
  }

  #begin(server: number | null, effect: () => Promise<void>): object {
    const id = (this.#next += 1);
    const action = { status: 'running', server };
    this.#actions.set(id, action);
    const { outcome } = this;
    const end = async (): Promise<void> => {
      if (outcome === 'success') await effect();
      action.status = outcome;
    };
    setTimeout(() => void end(), this.actionMs);
    return this.#action(id);
  }

  #action(id: number): object {
    const status = this.#actions.get(id)?.status;
    // Filled in while it runs, as in the provider's examples.
    return { id, status, command: 'x', error: { code: 'action_failed', message: 'Action failed' } };
  }

  protected async answer(received: Received): Promise<Played> {
    const { method, path, query, token } = received;
    const right = this.tokens.get(token);
    if (!right) return refused(401, 'unauthorized', 'unable to authenticate');
    if (right === 'read' && method !== 'GET')
      return refused(403, 'token_readonly', 'the token is only allowed to perform GET requests');
    const [, , kind, first = '', , last = ''] = path.split('/');
    if (kind === 'servers') {
      const found = [...this.servers].filter(([name]) => name === query['name']);
      const shown = found.map(([name, { id, location }]) => ({
        id,
        name,
        location: { name: location },
      }));
      return this.#page('servers', shown, received);
    }
    if (kind === 'actions')
      return this.#actions.has(Number(first))
        ? { status: 200, body: { action: this.#action(Number(first)) } }
        : notFound;
    if (kind !== 'volumes') return notFound;
    if (first === '') return method === 'POST' ? this.#create(received) : this.#list(received);
    const volume = this.volumes.get(Number(first));
    if (!volume) return notFound;
    if (last !== '') return this.#act(volume, last, received.body as Record<string, number>);
    if (method === 'GET') return { status: 200, body: { volume: this.#shown(volume) } };
    if (volume.protected) return refused(403, 'protected', 'volume is protected');
    if (volume.server !== null) return refused(422, 'service_error', 'volume is attached');
    this.volumes.delete(volume.id);
    await this.disks.remove(first);
    return { status: 204 };
  }

  #list(received: Received): Played {
    const { name, label_selector } = received.query;
    const found = [...this.volumes.values()].filter(
      (one) =>
        (name ?? one.name) === one.name &&
        (label_selector === undefined ||
          Object.entries(one.labels).some(([key, value]) => `${key}==${value}` === label_selector)),
    );
    return this.#page(
      'volumes',
      found.map((one) => this.#shown(one)),
      received,
    );
  }

  async #create({ body }: Received): Promise<Played> {
    const { name, location, labels, size } = body as {
      readonly name: string;
      readonly location: string;
      readonly labels: object;
      readonly size: number;
    };
    if (size < 10) return refused(422, 'invalid_input', 'invalid input in field size');
    for (const one of this.volumes.values())
      if (one.name === name) return refused(409, 'uniqueness_error', 'name is already used');
    const id = (this.#next += 1);
    const volume: Volume = { id, name, location, labels, size, status: 'creating', server: null };
    this.volumes.set(id, volume);
    const action = this.#begin(null, async () => {
      await this.disks.create(String(id), size * gib);
      volume.status = 'available';
    });
    return { status: 201, body: { volume: this.#shown(volume), action, next_actions: [] } };
  }

  #act(volume: Volume, type: string, body: Readonly<Record<string, number>>): Played {
    const server = body['server'] ?? volume.server;
    for (const { status, server: other } of this.#actions.values())
      if (status === 'running' && other !== null && other === server)
        return refused(423, 'locked', 'server is locked');
    if (type === 'attach' && volume.server !== null)
      return refused(422, 'volume_already_attached', 'volume is already attached');
    if (type === 'detach' && volume.server === null)
      return refused(422, 'invalid_input', 'volume is not attached to a server');
    if (type === 'resize' && (body['size'] ?? 0) <= volume.size)
      return refused(422, 'invalid_input', 'size must be greater than current size');
    const action = this.#begin(server, () => this.#effect(volume, type, body));
    return { status: 201, body: { action } };
  }

  async #effect(
    volume: Volume,
    type: string,
    { server = 0, size = 0 }: Readonly<Record<string, number>>,
  ): Promise<void> {
    const id = String(volume.id);
    const link = `scsi-0HC_Volume_${id}`;
    switch (type) {
      case 'attach':
        if (this.devices) volume.device = await this.disks.attach(id, String(server), link);
        volume.server = server;
        return;
      case 'detach':
        if (this.devices) await this.disks.detach(id, String(volume.server), link);
        volume.device = undefined;
        volume.server = null;
        return;
      default:
        await this.disks.grow(id, size * gib, volume.device);
        volume.size = size;
    }
  }
}
