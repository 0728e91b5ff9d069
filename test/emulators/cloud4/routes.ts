import type { ActionFate } from '../core/actions.js';
import type { Later } from '../core/machine.js';
import { jsonReply, queryValue, type Reply, type WireRequest } from '../core/wire.js';
import type { Caller } from './accounts.js';
import { listReply } from './list.js';
import {
  startAttach,
  startDelete,
  startDetach,
  startInsert,
  startLabels,
  startResize,
  startSnapshot,
  startSnapshotDeletion,
} from './orders.js';
import {
  type Fields,
  fields,
  labelsOf,
  nameOf,
  partOfUrl,
  sizeOf,
  textOf,
  typeOf,
} from './parse.js';
import { Refusal } from './refusals.js';
import {
  diskForm,
  diskTypeForm,
  instanceForm,
  operationForm,
  snapshotForm,
  zoneForm,
} from './render.js';
import { type Disk, keyOf, type Started } from './resources.js';
import { diskTypes, isRequestId, limits, zones } from './rules.js';
import type { State, Timed } from './state.js';

/** The arguments of a route. */
export interface Call {
  readonly state: State;
  readonly request: WireRequest;
  /** The segments of the path at the stars of the route after the project, in order. */
  readonly parts: readonly string[];
  readonly caller: Caller;
  readonly now: number;
  readonly fate: ActionFate;
  readonly pageMax: number;
}

/** The answer of a route, or the moment at which it will be there. */
export type Answer = Reply | Later;

/** A method and a path below the project. */
export interface Route {
  readonly on: string;
  /** The permission for the request; further ones depend on its body. */
  readonly needs?: string;
  readonly answer: (call: Call) => Answer;
  /** Whether the route starts an operation. */
  readonly acts?: true;
}

function need({ caller }: Call, permission: string, resource: string): void {
  if (!caller.may(permission)) throw new Refusal('forbidden', permission, resource);
}

/** Starts the operation of a request, unless an earlier request with the same id did. */
function once(call: Call, body: Fields, start: (request: Timed) => Started): Reply {
  const { request, state, now, fate, caller } = call;
  const requestId = queryValue(request, 'requestId');
  if (requestId !== undefined && !isRequestId(requestId))
    throw new Refusal('invalid', 'requestId', requestId, 'It must be a valid, nonzero UUID.');
  const rest = request.query.filter(([name]) => name !== 'requestId').flat();
  const own = [body['name'], body['source'], body['sizeGb']].map(String);
  const text = [request.method, request.path, ...rest, ...own].join(' ');
  const earlier = requestId === undefined ? undefined : state.repeated(requestId, text);
  const timed = { now, fate, user: caller.name, request: text };
  const started = earlier ?? start({ ...timed, ...(requestId === undefined ? {} : { requestId }) });
  return jsonReply(200, operationForm(state, started, now));
}

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

function attachDisk(call: Call): Reply {
  const { state, parts } = call;
  const [zone = '', instance = ''] = parts;
  const body = fields(call.request);
  const [place = '', name = ''] = partOfUrl(state, body, 'source', 'zones/*/disks/*') ?? [];
  if (name === '') throw new Refusal('required', 'resource.source');
  const mode = textOf(body, 'mode') ?? 'READ_WRITE';
  if (mode !== 'READ_WRITE' && mode !== 'READ_ONLY')
    throw new Refusal('invalid', 'resource.mode', mode, 'It is READ_WRITE or READ_ONLY.');
  const use = mode === 'READ_ONLY' ? 'compute.disks.useReadOnly' : 'compute.disks.use';
  need(call, use, state.paths.disk({ zone: place, name }));
  const forced = body['forceAttach'] === true || queryValue(call.request, 'forceAttach') === 'true';
  if (forced) throw new Refusal('unsupported');
  const server = state.requireServer(zone, instance);
  const key = keyOf(zone, server.name);
  return once(call, body, (request) => {
    const disk = state.requireDisk(place, name);
    if (place !== zone) {
      const why = 'Disk must be in the same zone as the instance.';
      throw new Refusal('invalid', 'resource.source', state.paths.disk(disk), why);
    }
    const usual = `persistent-disk-${state.attachedTo(key).length + 1}`;
    const deviceName = textOf(body, 'deviceName') ?? usual;
    const autoDelete = body['autoDelete'] === true;
    return startAttach(state, disk, { instance: key, deviceName, mode, autoDelete }, request);
  });
}

function detachDisk(call: Call): Reply {
  const { state, parts } = call;
  const [zone = '', instance = ''] = parts;
  const deviceName = queryValue(call.request, 'deviceName') ?? '';
  if (deviceName === '') throw new Refusal('required', 'deviceName');
  const server = state.requireServer(zone, instance);
  return once(call, {}, (request) => startDetach(state, server, { deviceName, request }));
}

function resizeDisk(call: Call): Reply {
  const body = fields(call.request);
  const sizeGib = sizeOf(body);
  if (sizeGib === undefined) throw new Refusal('required', 'sizeGb');
  return once(call, body, (request) => startResize(call.state, diskOf(call), { sizeGib, request }));
}

/** Creates a snapshot of a disk: an operation of the disk's zone, or a global one. */
function snapshotOf(call: Call, body: Fields, disk: () => Disk, zone?: string): Reply {
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

/** Returns which of the asked permissions the caller has on a resource, if it is of the resource's kind. */
function permissions(call: Call, kind: string): Reply {
  const { permissions: asked } = fields(call.request);
  const all = Array.isArray(asked) ? asked.map(String) : [];
  const foreign = all.find((one) => !one.startsWith(`compute.${kind}.`));
  if (foreign !== undefined)
    throw new Refusal('invalid', 'resource.permissions', foreign, 'Invalid permission.');
  const granted = all.filter((one) => call.caller.may(one));
  return jsonReply(200, granted.length === 0 ? {} : { permissions: granted });
}

/** Answers when the operation has ended, and after two minutes in any case. */
function wait(call: Call, operation: Started): Answer {
  const form = (now: number): Reply => {
    const current = call.state.actions.get(operation.id) ?? operation;
    return jsonReply(200, operationForm(call.state, current, now));
  };
  if (operation.status !== 'running') return form(call.now);
  const latest = call.now + limits.waitMs;
  return { at: Math.min(operation.endsAt ?? latest, latest), answer: form };
}

function list(call: Call, kind: string, items: readonly Fields[]): Reply {
  return listReply(call.request, { kind, items, pageMax: call.pageMax });
}

function listOperations(call: Call, zone: string | undefined): Reply {
  const { state, now } = call;
  const all = state.actions.all.filter(({ work }) => work.zone === zone);
  return list(
    call,
    'operationList',
    all.map((one) => operationForm(state, one, now)),
  );
}

function setLabels(call: Call, resource: Disk | ReturnType<State['requireSnapshot']>): Reply {
  const body = fields(call.request);
  const labels = labelsOf(body);
  return once(call, body, (request) => startLabels(call.state, resource, { labels, request }));
}

function typesOf({ state, parts: [zone = ''] }: Call): readonly Fields[] {
  return diskTypes.map((type) => diskTypeForm(state, zone, type));
}

function oneOf(items: readonly Fields[], name: string, path: string): Reply {
  const found = items.find((one) => one['name'] === name);
  if (!found) throw new Refusal('notFound', path);
  return jsonReply(200, found);
}

/** The provider's calls for disks, instances, snapshots, zones and operations. */
export const routes: readonly Route[] = [
  { on: 'POST zones/*/disks', answer: insertDisk, acts: true },
  {
    ...{ on: 'GET zones/*/disks', needs: 'compute.disks.list' },
    answer: (call) => {
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
    answer: (call) => jsonReply(200, diskForm(call.state, diskOf(call))),
  },
  {
    ...{ on: 'DELETE zones/*/disks/*', needs: 'compute.disks.delete', acts: true },
    answer: (call) => once(call, {}, (request) => startDelete(call.state, diskOf(call), request)),
  },
  {
    ...{ on: 'POST zones/*/disks/*/resize', needs: 'compute.disks.resize', acts: true },
    answer: resizeDisk,
  },
  {
    ...{ on: 'POST zones/*/disks/*/createSnapshot', needs: 'compute.disks.createSnapshot' },
    answer: (call) =>
      snapshotOf(call, fields(call.request), () => diskOf(call), call.parts[0] ?? ''),
    acts: true,
  },
  {
    ...{ on: 'POST zones/*/disks/*/setLabels', needs: 'compute.disks.setLabels', acts: true },
    answer: (call) => setLabels(call, diskOf(call)),
  },
  {
    on: 'POST zones/*/disks/*/testIamPermissions',
    answer: (call) => (diskOf(call), permissions(call, 'disks')),
  },
  {
    ...{ on: 'GET zones/*/instances', needs: 'compute.instances.list' },
    answer: (call) => {
      const { state, parts } = call;
      const all = [...state.servers.values()].filter(({ place }) => place === parts[0]);
      return list(
        call,
        'instanceList',
        all.map((one) => instanceForm(state, one)),
      );
    },
  },
  {
    ...{ on: 'GET zones/*/instances/*', needs: 'compute.instances.get' },
    answer: ({ state, parts: [zone = '', name = ''] }) =>
      jsonReply(200, instanceForm(state, state.requireServer(zone, name))),
  },
  {
    ...{ on: 'POST zones/*/instances/*/attachDisk', needs: 'compute.instances.attachDisk' },
    ...{ answer: attachDisk, acts: true },
  },
  {
    ...{ on: 'POST zones/*/instances/*/detachDisk', needs: 'compute.instances.detachDisk' },
    ...{ answer: detachDisk, acts: true },
  },
  {
    on: 'POST zones/*/instances/*/testIamPermissions',
    answer: (call) => {
      const [zone = '', name = ''] = call.parts;
      call.state.requireServer(zone, name);
      return permissions(call, 'instances');
    },
  },
  {
    ...{ on: 'GET zones/*/operations', needs: 'compute.zoneOperations.list' },
    answer: (call) => listOperations(call, call.parts[0]),
  },
  {
    ...{ on: 'GET zones/*/operations/*', needs: 'compute.zoneOperations.get' },
    answer: ({ state, now, parts: [zone, name = ''] }) =>
      jsonReply(200, operationForm(state, state.requireOperation(zone, name), now)),
  },
  {
    ...{ on: 'POST zones/*/operations/*/wait', needs: 'compute.zoneOperations.get' },
    answer: (call) => wait(call, call.state.requireOperation(call.parts[0], call.parts[1] ?? '')),
  },
  {
    ...{ on: 'GET zones/*/diskTypes', needs: 'compute.diskTypes.list' },
    answer: (call) => list(call, 'diskTypeList', typesOf(call)),
  },
  {
    ...{ on: 'GET zones/*/diskTypes/*', needs: 'compute.diskTypes.get' },
    answer: (call) => oneOf(typesOf(call), call.parts[1] ?? '', call.request.path.slice(12)),
  },
  {
    ...{ on: 'GET zones', needs: 'compute.zones.list' },
    answer: (call) =>
      list(
        call,
        'zoneList',
        zones.map((one) => zoneForm(call.state, one)),
      ),
  },
  {
    ...{ on: 'GET zones/*', needs: 'compute.zones.get' },
    answer: ({ state, parts: [zone = ''] }) => jsonReply(200, zoneForm(state, zone)),
  },
  { on: 'POST global/snapshots', answer: insertSnapshot, acts: true },
  {
    ...{ on: 'GET global/snapshots', needs: 'compute.snapshots.list' },
    answer: (call) => {
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
    answer: (call) => setLabels(call, call.state.requireSnapshot(call.parts[0] ?? '')),
    acts: true,
  },
  {
    on: 'POST global/snapshots/*/testIamPermissions',
    answer: (call) => {
      call.state.requireSnapshot(call.parts[0] ?? '');
      return permissions(call, 'snapshots');
    },
  },
  {
    ...{ on: 'GET global/operations', needs: 'compute.globalOperations.list' },
    answer: (call) => listOperations(call, undefined),
  },
  {
    ...{ on: 'GET global/operations/*', needs: 'compute.globalOperations.get' },
    answer: ({ state, now, parts: [name = ''] }) =>
      jsonReply(200, operationForm(state, state.requireOperation(undefined, name), now)),
  },
  {
    ...{ on: 'POST global/operations/*/wait', needs: 'compute.globalOperations.get' },
    answer: (call) => wait(call, call.state.requireOperation(undefined, call.parts[0] ?? '')),
  },
];
