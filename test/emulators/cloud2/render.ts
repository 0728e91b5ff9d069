import type { Action } from '../core/actions.js';
import type { Page } from '../core/pages.js';
import { linkOf, locations } from './rules.js';
import type { Server, Volume, Work } from './state.js';

type Json = Readonly<Record<string, unknown>>;

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, '+00:00');

export function locationForm(name: string): Json {
  return { ...locations.find((one) => one.name === name) };
}

export function volumeForm(volume: Volume): Json {
  return {
    id: volume.id,
    created: time(volume.createdAt),
    name: volume.name,
    server: volume.server ?? null,
    location: locationForm(volume.location),
    size: volume.sizeGib,
    linux_device: `/dev/disk/by-id/${linkOf(volume.id)}`,
    protection: { delete: volume.protected },
    labels: volume.labels,
    status: volume.available ? 'available' : 'creating',
    format: volume.format,
  };
}

const commands: Readonly<Record<Work['type'], string>> = {
  create: 'create_volume',
  attach: 'attach_volume',
  detach: 'detach_volume',
  resize: 'resize_volume',
  protect: 'change_protection',
};

/**
 * The record of an action. Examples of the definition have an error in actions that run, so a client may decide only by
 * the status. With `noise`, running actions have such an error.
 */
export function actionForm(action: Action<Work>, noise = false): Json {
  const { work, status } = action;
  const server = 'server' in work ? [{ id: work.server, type: 'server' }] : [];
  const states = { running: 'running', done: 'success', failed: 'error' } as const;
  const example = { code: 'action_failed', message: 'Action failed' };
  const shown = {
    running: noise ? example : null,
    done: null,
    failed: action.failure ?? example,
  };
  return {
    id: action.id,
    command: commands[work.type],
    status: states[status],
    progress: status === 'running' ? 0 : 100,
    started: time(action.startedAt),
    finished: action.endedAt === undefined ? null : time(action.endedAt),
    resources: [...server, { id: work.volume, type: 'volume' }],
    error: shown[status],
  };
}

export function serverForm(server: Server, volumes: readonly number[]): Json {
  return {
    id: server.id,
    name: server.name,
    status: 'running',
    created: time(server.createdAt),
    location: locationForm(server.place),
    public_net: { ipv4: null, ipv6: null, floating_ips: [], firewalls: [] },
    private_net: [],
    server_type: {
      ...{ id: 22, name: 'cpx22', description: 'CPX 22', cores: 2, memory: 4, disk: 80 },
      ...{ prices: [], storage_type: 'local', cpu_type: 'shared', architecture: 'x86' },
      ...{ deprecated: false, locations: [] },
    },
    image: null,
    iso: null,
    rescue_enabled: false,
    locked: false,
    backup_window: null,
    outgoing_traffic: 0,
    ingoing_traffic: 0,
    included_traffic: 21_990_232_555_520,
    protection: { delete: false, rebuild: false },
    labels: {},
    volumes,
    load_balancers: [],
    primary_disk_size: 80,
    placement_group: null,
  };
}

/** Returns a page of a list with the numbers of the pages around it. */
export function listForm(key: string, page: Page<Json>): Json {
  const { page: number, perPage, lastPage, total } = page;
  const pagination = {
    page: number,
    per_page: perPage,
    previous_page: number > 1 ? number - 1 : null,
    next_page: number < lastPage ? number + 1 : null,
    last_page: lastPage,
    total_entries: total,
  };
  return { [key]: page.items, meta: { pagination } };
}
