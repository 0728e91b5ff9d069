import { jsonReply, queryValue, type Reply } from '../core/wire.js';
import { startDelete, startInsert, startResize } from './orders.js';
import { fields, labelsOf, nameOf, partOfUrl, sizeOf, textOf, typeOf } from './parse.js';
import { Refusal } from './refusals.js';
import { diskForm } from './render.js';
import type { Disk } from './resources.js';
import { type Call, list, need, once, permissions, type Route, setLabels } from './route.js';
import { snapshotOf } from './snapshot-routes.js';

function diskOf({ state, parts: [zone = '', name = ''] }: Call): Disk {
  return state.requireDisk(zone, name);
}

function insertDisk(call: Call): Reply {
  const { state, parts } = call;
  const [zone = ''] = parts;
  const body = fields(call.request);
  const name = nameOf(body);
  const path = state.paths.disk({ zone, name });
  const labels = labelsOf(body);
  need(call, 'compute.disks.create', path);
  if (Object.keys(labels).length > 0) need(call, 'compute.disks.setLabels', path);
  const [snapshot] = partOfUrl(state, body, 'sourceSnapshot', 'global/snapshots/*') ?? [];
  if (snapshot !== undefined)
    need(call, 'compute.snapshots.useReadOnly', state.paths.snapshot(snapshot));
  if (queryValue(call.request, 'sourceImage') ?? body['sourceImage'])
    throw new Refusal('invalid', 'resource.sourceImage', '', 'The emulator has no images.');
  const sizeGib = sizeOf(body);
  const description = textOf(body, 'description');
  const order = {
    ...{ name, zone, labels, type: typeOf(state, body, zone) },
    ...(sizeGib === undefined ? {} : { sizeGib }),
    ...(description === undefined ? {} : { description }),
    ...(snapshot === undefined ? {} : { snapshot }),
  };
  return once(call, body, (request) => startInsert(state, order, request));
}

function resizeDisk(call: Call): Reply {
  const body = fields(call.request);
  const sizeGib = sizeOf(body);
  if (sizeGib === undefined) throw new Refusal('required', 'sizeGb');
  return once(call, body, (request) => startResize(call.state, diskOf(call), { sizeGib, request }));
}

/** The provider's calls for disks. */
export const diskRoutes: readonly Route[] = [
  { on: 'POST zones/*/disks', answer: insertDisk, acts: true },
  {
    ...{ on: 'GET zones/*/disks', needs: 'compute.disks.list' },
    answer: (call: Call): Reply => {
      const disks = call.state.listDisks(call.parts[0] ?? '');
      return list(
        call,
        'diskList',
        disks.map((disk) => diskForm(call.state, disk)),
      );
    },
  },
  {
    ...{ on: 'GET zones/*/disks/*', needs: 'compute.disks.get' },
    answer: (call: Call): Reply => jsonReply(200, diskForm(call.state, diskOf(call))),
  },
  {
    ...{ on: 'DELETE zones/*/disks/*', needs: 'compute.disks.delete', acts: true },
    answer: (call: Call): Reply =>
      once(call, {}, (request) => startDelete(call.state, diskOf(call), request)),
  },
  {
    ...{ on: 'POST zones/*/disks/*/resize', needs: 'compute.disks.resize', acts: true },
    answer: resizeDisk,
  },
  {
    ...{ on: 'POST zones/*/disks/*/createSnapshot', needs: 'compute.disks.createSnapshot' },
    answer: (call: Call): Reply =>
      snapshotOf(call, fields(call.request), () => diskOf(call), call.parts[0] ?? ''),
    acts: true,
  },
  {
    ...{ on: 'POST zones/*/disks/*/setLabels', needs: 'compute.disks.setLabels', acts: true },
    answer: (call: Call): Reply => setLabels(call, diskOf(call)),
  },
  {
    on: 'POST zones/*/disks/*/testIamPermissions',
    answer: (call: Call): Reply => (diskOf(call), permissions(call, 'disks')),
  },
];
