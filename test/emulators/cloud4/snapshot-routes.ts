import { jsonReply, type Reply } from '../core/wire.js';
import { startSnapshot, startSnapshotDeletion } from './orders.js';
import { type Fields, fields, labelsOf, nameOf, partOfUrl, textOf } from './parse.js';
import { Refusal } from './refusals.js';
import { snapshotForm } from './render.js';
import type { Disk } from './resources.js';
import { type Call, list, need, once, permissions, type Route, setLabels } from './route.js';

/** Creates a snapshot of a disk: an operation of the disk's zone, or a global one. */
export function snapshotOf(call: Call, body: Fields, disk: () => Disk, zone?: string): Reply {
  const { state } = call;
  const name = nameOf(body);
  const labels = labelsOf(body);
  const description = textOf(body, 'description');
  need(call, 'compute.snapshots.create', state.paths.snapshot(name));
  if (Object.keys(labels).length > 0)
    need(call, 'compute.snapshots.setLabels', state.paths.snapshot(name));
  const storageLocations = Array.isArray(body['storageLocations'])
    ? body['storageLocations'].map(String)
    : ['eu'];
  const order = { name, labels, storageLocations };
  return once(call, body, (request) => {
    const timed = zone === undefined ? request : { ...request, zone };
    const whole = description === undefined ? order : { ...order, description };
    return startSnapshot(state, disk(), whole, timed);
  });
}

function insertSnapshot(call: Call): Reply {
  const { state, request } = call;
  const body = fields(request);
  const [zone = '', name = ''] = partOfUrl(state, body, 'sourceDisk', 'zones/*/disks/*') ?? [];
  if (name === '') throw new Refusal('required', 'resource.sourceDisk');
  need(call, 'compute.disks.createSnapshot', state.paths.disk({ zone, name }));
  return snapshotOf(call, body, () => state.requireDisk(zone, name));
}

function deleteSnapshot(call: Call): Reply {
  const { state, parts } = call;
  return once(call, {}, (request) =>
    startSnapshotDeletion(state, state.requireSnapshot(parts[0] ?? ''), request),
  );
}

/** The provider's calls for snapshots. */
export const snapshotRoutes: readonly Route[] = [
  { on: 'POST global/snapshots', answer: insertSnapshot, acts: true },
  {
    ...{ on: 'GET global/snapshots', needs: 'compute.snapshots.list' },
    answer: (call: Call): Reply => {
      const { state, now } = call;
      const all = [...state.snapshots.values()].map((one) => snapshotForm(state, one, now));
      return list(call, 'snapshotList', all);
    },
  },
  {
    ...{ on: 'GET global/snapshots/*', needs: 'compute.snapshots.get' },
    answer: ({ state, now, parts: [name = ''] }) =>
      jsonReply(200, snapshotForm(state, state.requireSnapshot(name), now)),
  },
  {
    ...{ on: 'DELETE global/snapshots/*', needs: 'compute.snapshots.delete', acts: true },
    answer: deleteSnapshot,
  },
  {
    ...{ on: 'POST global/snapshots/*/setLabels', needs: 'compute.snapshots.setLabels' },
    answer: (call: Call): Reply => setLabels(call, call.state.requireSnapshot(call.parts[0] ?? '')),
    acts: true,
  },
  {
    on: 'POST global/snapshots/*/testIamPermissions',
    answer: (call: Call): Reply => {
      call.state.requireSnapshot(call.parts[0] ?? '');
      return permissions(call, 'snapshots');
    },
  },
];
