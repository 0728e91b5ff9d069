import type { Form } from './form.js';
import type { Server, Snapshot, Tags, Volume } from './records.js';
import { Refusal } from './refusals.js';
import { regionOf } from './rules.js';

/** A filter of a request: a name, and values of which one has to match. */
interface Filter {
  readonly name: string;
  readonly values: readonly string[];
}

/** The values of a resource by the names of filters. */
type Facets = Readonly<Record<string, readonly string[]>>;

/** Parses the parameters `Filter.N.Name` and `Filter.N.Value.M`. */
function filtersOf(form: Form): readonly Filter[] {
  return form
    .groups('Filter')
    .map((one) => ({ name: one.requiredText('Name'), values: one.texts('Value') }));
}

/** Whether a value matches a pattern, in which `*` stands for any characters and `?` for one. */
export function matches(pattern: string, value: string): boolean {
  const parts = [...pattern].map((c) =>
    c === '*' ? '.*' : c === '?' ? '.' : c.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`),
  );
  return new RegExp(`^${parts.join('')}$`, 's').test(value);
}

/**
 * Returns a function that reports whether a resource matches all filters of a request. @throws Refusal for a filter
 * that the provider does not have
 */
export function selector(
  form: Form,
  known: readonly string[],
): (facets: Facets, tags: Tags) => boolean {
  const filters = filtersOf(form);
  for (const { name } of filters)
    if (!known.includes(name) && !/^tag:./.test(name) && name !== 'tag-key')
      throw new Refusal('badValue', name, 'Filter', `The filter '${name}' is invalid`);
  return (facets, tags) =>
    filters.every(({ name, values }) => {
      const tag = tags[name.slice('tag:'.length)];
      const own = name.startsWith('tag:')
        ? tag === undefined
          ? []
          : [tag]
        : name === 'tag-key'
          ? Object.keys(tags)
          : (facets[name] ?? []);
      return own.some((value) => values.some((pattern) => matches(pattern, value)));
    });
}

const maybe = (value: string | number | undefined): readonly string[] =>
  value === undefined ? [] : [String(value)];
const time = (ms: number): string => new Date(ms).toISOString();

export const volumeFilters = [
  ...['attachment.attach-time', 'attachment.delete-on-termination', 'attachment.device'],
  ...['attachment.instance-id', 'attachment.status', 'availability-zone', 'create-time'],
  ...['encrypted', 'multi-attach-enabled', 'size', 'snapshot-id', 'status', 'volume-id'],
  'volume-type',
];

export function volumeFacets(volume: Volume): Facets {
  const { attachment, root } = volume;
  return {
    'attachment.attach-time': maybe(attachment && time(attachment.at)),
    'attachment.delete-on-termination': maybe(attachment && String(root ?? false)),
    'attachment.device': maybe(attachment?.device),
    'attachment.instance-id': maybe(attachment?.instance),
    'attachment.status': maybe(attachment?.state),
    'availability-zone': [volume.zone],
    'create-time': [time(volume.createdAt)],
    encrypted: [String(volume.encrypted)],
    'multi-attach-enabled': ['false'],
    size: maybe(volume.sizeGib),
    'snapshot-id': maybe(volume.snapshot),
    status: [attachment ? 'in-use' : volume.state],
    'volume-id': [volume.id],
    'volume-type': [volume.type],
  };
}

export const snapshotFilters = [
  ...['description', 'encrypted', 'owner-id', 'progress', 'snapshot-id', 'start-time', 'status'],
  ...['volume-id', 'volume-size'],
];

export function snapshotFacets(snapshot: Snapshot): Facets {
  return {
    description: [snapshot.description],
    encrypted: [String(snapshot.encrypted)],
    'owner-id': [owner],
    progress: [snapshot.state === 'completed' ? '100%' : '0%'],
    'snapshot-id': [snapshot.id],
    'start-time': [time(snapshot.startedAt)],
    status: [snapshot.state],
    'volume-id': [snapshot.volume],
    'volume-size': maybe(snapshot.sizeGib),
  };
}

export const instanceFilters = [
  ...['availability-zone', 'instance-id', 'instance-state-code', 'instance-state-name'],
  ...['instance-type', 'private-dns-name', 'private-ip-address'],
];

/** The states of instances with the provider's codes. */
export const stateCodes = { running: 16, terminated: 48 } as const;

export function instanceFacets(server: Server): Facets {
  return {
    'availability-zone': [server.place],
    'instance-id': [server.id],
    'instance-state-code': maybe(stateCodes[server.state]),
    'instance-state-name': [server.state],
    'instance-type': [server.kind],
    // A terminated instance has lost its name and its address.
    'private-dns-name': server.state === 'running' ? [server.privateDns] : [],
    'private-ip-address': server.state === 'running' ? [server.address] : [],
  };
}

export const zoneFilters = ['region-name', 'state', 'zone-id', 'zone-name', 'zone-type'];

export function zoneFacets(zone: string): Facets {
  return {
    'region-name': [regionOf(zone)],
    state: ['available'],
    'zone-id': [zone],
    'zone-name': [zone],
    'zone-type': ['availability-zone'],
  };
}

/** The account's id. */
export const owner = '123456789012';
