import type { Action } from '../core/actions.js';
import type { Page } from '../core/pages.js';
import { regions } from './rules.js';
import type { Droplet, Snapshot, Volume, Work } from './state.js';

type Json = Readonly<Record<string, unknown>>;

const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

function regionForm(slug: string): Json {
  const name = regions.find((one) => one.slug === slug)?.name ?? slug;
  const features = ['backups', 'ipv6', 'metadata', 'install_agent', 'storage', 'image_transfer'];
  return { name, slug, features, available: true, sizes: ['s-1vcpu-1gb', 's-2vcpu-4gb'] };
}

/** Returns a volume as in answers: its region is an object there, but a slug in requests. */
export function volumeForm(volume: Volume): Json {
  return {
    id: volume.id,
    name: volume.name,
    created_at: time(volume.createdAt),
    description: volume.description,
    droplet_ids: volume.droplet === undefined ? null : [volume.droplet],
    region: regionForm(volume.region),
    size_gigabytes: volume.sizeGib,
    filesystem_type: volume.fileSystem,
    filesystem_label: volume.label,
    tags: volume.tags.length === 0 ? null : volume.tags,
  };
}

/** Returns a snapshot as in answers. `size_gigabytes` is the billable size, not that of a restored volume. */
export function snapshotForm(snapshot: Snapshot): Json {
  return {
    id: snapshot.id,
    name: snapshot.name,
    created_at: time(snapshot.createdAt),
    regions: [snapshot.region],
    resource_id: snapshot.volume,
    resource_type: 'volume',
    min_disk_size: snapshot.sizeGib,
    size_gigabytes: 0,
    tags: snapshot.tags,
  };
}

/** Returns an action as in answers. `resource_id` is an integer or null, so it can't be the UUID of a volume. */
export function actionForm(action: Action<Work>, region: string | undefined): Json {
  const states = { running: 'in-progress', done: 'completed', failed: 'errored' } as const;
  return {
    id: action.id,
    status: states[action.status],
    type: action.work.type === 'resize' ? 'resize' : `${action.work.type}_volume`,
    started_at: time(action.startedAt),
    completed_at: action.endedAt === undefined ? null : time(action.endedAt),
    resource_id: null,
    resource_type: 'backend',
    ...(region === undefined ? {} : { region: regionForm(region) }),
    region_slug: region ?? null,
  };
}

export function dropletForm(droplet: Droplet, volumes: readonly string[]): Json {
  const size = droplet.gpu ? 'gpu-h100x1-80gb' : 's-1vcpu-1gb';
  const figures = { memory: 1024, vcpus: 1, disk: 25 };
  return {
    id: droplet.id,
    name: droplet.name,
    ...figures,
    locked: false,
    status: 'active',
    kernel: null,
    created_at: time(droplet.createdAt),
    features: ['private_networking', 'ipv6'],
    backup_ids: [],
    next_backup_window: null,
    snapshot_ids: [],
    image: { id: 63_663_980, name: '12 x64', distribution: 'Debian', slug: 'debian-12-x64' },
    volume_ids: volumes,
    size: {
      slug: size,
      ...figures,
      ...{ transfer: 1, price_monthly: 6, price_hourly: 0.009, available: true },
      ...{ regions: [droplet.place], description: 'Basic' },
    },
    size_slug: size,
    networks: { v4: [], v6: [] },
    region: regionForm(droplet.place),
    tags: [],
  };
}

/** Returns a page of a list with links to the pages before and after it; without links if it is the only page. */
export function listForm(
  key: string,
  page: Page<Json>,
  address: { readonly path: string; readonly query: readonly (readonly [string, string])[] },
): Json {
  const link = (number: number): string => {
    const query = new URLSearchParams();
    for (const [name, value] of address.query) query.append(name, value);
    query.set('page', String(number));
    return `https://api.digitalocean.com${address.path}?${query.toString()}`;
  };
  const { page: number, lastPage } = page;
  const forwards = number < lastPage ? { next: link(number + 1), last: link(lastPage) } : undefined;
  const backwards = number > 1 ? { first: link(1), prev: link(number - 1) } : undefined;
  const pages = forwards || backwards ? { pages: { ...backwards, ...forwards } } : {};
  return { [key]: page.items, links: pages, meta: { total: page.total } };
}
