import { jsonReply, queryValue, type Reply } from '../core/wire.js';
import { diskRoutes } from './disk-routes.js';
import { startAttach, startDetach } from './orders.js';
import { type Fields, fields, partOfUrl, textOf } from './parse.js';
import { Refusal } from './refusals.js';
import { diskTypeForm, instanceForm, operationForm, zoneForm } from './render.js';
import { keyOf, type Started } from './resources.js';
import { type Answer, type Call, list, need, once, permissions, type Route } from './route.js';
import { diskTypes, limits, zones } from './rules.js';
import { snapshotRoutes } from './snapshot-routes.js';

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

/** Answers when the operation has ended, but after two minutes at the latest. */
function wait(call: Call, operation: Started): Answer {
  const form = (now: number): Reply => {
    const current = call.state.actions.get(operation.id) ?? operation;
    return jsonReply(200, operationForm(call.state, current, now));
  };
  if (operation.status !== 'running') return form(call.now);
  const latest = call.now + limits.waitMs;
  return { at: Math.min(operation.endsAt ?? latest, latest), answer: form };
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
  ...diskRoutes,
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
  ...snapshotRoutes,
];
