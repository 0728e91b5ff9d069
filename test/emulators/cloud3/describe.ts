import type { Reply } from '../core/wire.js';
import type { Call } from './call.js';
import {
  instanceFacets,
  instanceFilters,
  selector,
  snapshotFacets,
  snapshotFilters,
  volumeFacets,
  volumeFilters,
  zoneFacets,
  zoneFilters,
} from './filters.js';
import { Refusal } from './refusals.js';
import {
  instanceTypeForm,
  modificationForm,
  reservationForm,
  snapshotForm,
  volumeForm,
  zoneForm,
} from './render.js';
import { instanceKinds, limits, zones } from './rules.js';
import { isSnapshotListed } from './snapshots.js';
import { isVisible } from './state.js';
import { isListed } from './volumes.js';
import { type XmlValue, xmlReply } from './xml.js';

/** Returns a page of a list, and the token of the next one. A request with ids has one page. */
function page<T>(call: Call, set: string, all: readonly T[], form: (one: T) => XmlValue): Reply {
  const { form: given, perPage, action } = call;
  const max = given.whole('MaxResults');
  if (max !== undefined && (max < limits.pageMin || max > limits.pageMax)) {
    const bounds = `Expecting a value from ${limits.pageMin} to ${limits.pageMax}.`;
    throw new Refusal('badValue', max, 'maxResults', bounds);
  }
  const token = given.text('NextToken');
  const start = token === undefined ? 0 : offsetOf(action, token);
  const size = call.ids.length > 0 ? all.length : Math.min(max ?? limits.pageMax, perPage);
  const end = start + Math.max(size, 1);
  const next = end < all.length ? Buffer.from(`${action} ${end}`).toString('base64') : undefined;
  return xmlReply(200, action, { [set]: all.slice(start, end).map(form), nextToken: next });
}

function offsetOf(action: string, token: string): number {
  const [, name, offset] = /^(\w+) (\d+)$/.exec(Buffer.from(token, 'base64').toString()) ?? [];
  if (name !== action) throw new Refusal('badPage');
  return Number(offset);
}

/** @throws Refusal if the request has ids and a page size */
function requireNoPage({ form, ids }: Call, set: string): void {
  if (ids.length > 0 && form.text('MaxResults') !== undefined)
    throw new Refusal(
      'badCombination',
      `The parameter ${set} cannot be used with the parameter maxResults`,
    );
}

/** Describes volumes. One unknown id fails a request for several. */
export function describeVolumes(call: Call): Reply {
  const { state, form, region, ids } = call;
  requireNoPage(call, 'volumesSet');
  const fits = selector(form, volumeFilters);
  for (const id of ids) state.requireVolume(id, region);
  const found = [...state.volumes.values()].filter(
    (one) => (ids.length === 0 || ids.includes(one.id)) && fits(volumeFacets(one), one.tags),
  );
  const seen = found.filter((one) => isListed(state, one, region));
  const [hidden] = ids.filter((id) => found.some((one) => one.id === id && !seen.includes(one)));
  if (hidden !== undefined) throw new Refusal('volumeNotFound', hidden);
  return page(call, 'volumeSet', seen, volumeForm);
}

export function describeModifications(call: Call): Reply {
  const { state, form, region, ids } = call;
  requireNoPage(call, 'volumesSet');
  for (const id of ids) state.requireVolume(id, region);
  const fits = selector(form, ['modification-state', 'volume-id']);
  const latest = new Map(state.modifications.map((one) => [one.volume, one]));
  const found = [...latest.values()].filter(
    (one) =>
      (ids.length === 0 || ids.includes(one.volume)) &&
      fits({ 'modification-state': [one.state], 'volume-id': [one.volume] }, {}),
  );
  return page(call, 'volumeModificationSet', found, modificationForm);
}

export function describeSnapshots(call: Call): Reply {
  const { state, form, region, ids } = call;
  requireNoPage(call, 'snapshotSet');
  const fits = selector(form, snapshotFilters);
  for (const id of ids) state.requireSnapshot(id, region);
  const found = [...state.snapshots.values()].filter(
    (one) => (ids.length === 0 || ids.includes(one.id)) && fits(snapshotFacets(one), one.tags),
  );
  const seen = found.filter((one) => isSnapshotListed(state, one, region));
  const [hidden] = ids.filter((id) => found.some((one) => one.id === id && !seen.includes(one)));
  if (hidden !== undefined) throw new Refusal('snapshotNotFound', hidden);
  return page(call, 'snapshotSet', seen, snapshotForm);
}

/** Describes instances, including those that were terminated within the last hour. */
export function describeInstances(call: Call): Reply {
  const { state, form, region, ids, now } = call;
  requireNoPage(call, 'instancesSet');
  const fits = selector(form, instanceFilters);
  for (const id of ids) state.requireServer(id, call);
  const zonesHere = zones[region] ?? [];
  const found = [...state.servers.values()].filter(
    (one) =>
      zonesHere.includes(one.place) &&
      isVisible(one, now) &&
      (ids.length === 0 || ids.includes(one.id)) &&
      fits(instanceFacets(one), one.tags),
  );
  return page(call, 'reservationSet', found, (one) =>
    reservationForm(one, state.attachedTo(one.id)),
  );
}

export function describeZones(call: Call): Reply {
  const { form, region } = call;
  const names = form.texts('ZoneName');
  const here = zones[region] ?? [];
  for (const name of names) if (!here.includes(name)) throw new Refusal('zoneUnknown', name);
  const fits = selector(form, zoneFilters);
  const found = here.filter(
    (one) => (names.length === 0 || names.includes(one)) && fits(zoneFacets(one), {}),
  );
  return xmlReply(200, call.action, { availabilityZoneInfo: found.map(zoneForm) });
}

export function describeInstanceTypes(call: Call): Reply {
  const names = call.form.texts('InstanceType');
  const known = Object.keys(instanceKinds);
  const fits = selector(call.form, ['instance-type', 'hypervisor']);
  for (const name of names)
    if (!known.includes(name))
      throw new Refusal('badValue', name, 'InstanceType', 'The instance type does not exist.');
  const found = known.filter(
    (one) => (names.length === 0 || names.includes(one)) && fits({ 'instance-type': [one] }, {}),
  );
  return page(call, 'instanceTypeSet', found, instanceTypeForm);
}

/** Describes the tags of volumes, snapshots and instances. */
export function describeTags(call: Call): Reply {
  const { state, form } = call;
  const fits = selector(form, ['key', 'resource-id', 'resource-type', 'value']);
  const all = [
    ...[...state.volumes.values()].map((one) => ({ ...one, kind: 'volume' })),
    ...[...state.snapshots.values()].map((one) => ({ ...one, kind: 'snapshot' })),
    ...[...state.servers.values()].map((one) => ({ ...one, kind: 'instance' })),
  ].flatMap(({ id, kind, tags }) =>
    Object.entries(tags).map(([key, value]) => ({
      ...{ resourceId: id, resourceType: kind, key, value },
    })),
  );
  const found = all.filter(({ resourceId, resourceType, key, value }) =>
    fits(
      { key: [key], 'resource-id': [resourceId], 'resource-type': [resourceType], value: [value] },
      { [key]: value },
    ),
  );
  return page(call, 'tagSet', found, (one) => one);
}
