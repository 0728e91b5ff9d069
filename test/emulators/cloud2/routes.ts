import type { ActionFate } from '../core/actions.js';
import { pageNumbers, pageOf } from '../core/pages.js';
import { bodyObject, jsonReply, queryValue, type Reply, type WireRequest } from '../core/wire.js';
import { Refusal } from './refusals.js';
import { actionForm, listForm, locationForm, serverForm, volumeForm } from './render.js';
import { limits, locations, selects } from './rules.js';
import type { Started, State, Volume, VolumeOrder } from './state.js';

/** The arguments of a route. */
export interface Call {
  readonly state: State;
  readonly request: WireRequest;
  /** The segments of the path at the stars of the route, in order. */
  readonly parts: readonly string[];
  readonly now: number;
  readonly fate: ActionFate;
  /** Whether records of running actions have an error, as in the examples of the definition. */
  readonly noise: boolean;
}

/** A method and a path. */
export interface Route {
  readonly on: string;
  readonly answer: (call: Call) => Reply;
  /** Whether the route starts an action. */
  readonly acts?: true;
}

type Fields = Readonly<Record<string, unknown>>;

function fields({ request }: Call): Fields {
  const body = bodyObject(request);
  if (!body) throw new Refusal('badJson');
  return body;
}

function optional<T>(
  body: Fields,
  name: string,
  is: (value: unknown) => value is T,
): T | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!is(value)) throw new Refusal('badInput', name);
  return value;
}

function required<T>(body: Fields, name: string, is: (value: unknown) => value is T): T {
  const value = optional(body, name, is);
  if (value === undefined) throw new Refusal('badInput', name);
  return value;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isTruth = (value: unknown): value is boolean => typeof value === 'boolean';

function idOf({ parts }: Call, part = 0): number {
  return Number(parts[part]);
}

function page<T>(call: Call, key: string, all: readonly T[], form: (one: T) => Fields): Reply {
  const given = { page: queryValue(call.request, 'page') };
  const numbers = pageNumbers({ ...given, perPage: queryValue(call.request, 'per_page') }, limits);
  if (!numbers) throw new Refusal('badInput', 'per_page');
  const { items, ...rest } = pageOf(all, numbers);
  return jsonReply(200, listForm(key, { ...rest, items: items.map(form) }));
}

function values({ request }: Call, name: string): readonly string[] {
  return request.query.filter(([key]) => key === name).map(([, value]) => value);
}

function listVolumes(call: Call): Reply {
  const name = queryValue(call.request, 'name');
  const selector = queryValue(call.request, 'label_selector');
  const states = values(call, 'status');
  const found = call.state.listVolumes(
    (one) =>
      (name === undefined || one.name === name) &&
      (selector === undefined || selects(selector, one.labels)) &&
      (states.length === 0 || states.includes(one.available ? 'available' : 'creating')),
  );
  const [order = 'id'] = values(call, 'sort');
  const [key = 'id', direction = 'asc'] = order.split(':');
  const value = (one: Volume): string | number =>
    key === 'name' ? one.name : key === 'created' ? one.createdAt : one.id;
  const sign = direction === 'desc' ? -1 : 1;
  const sorted = [...found].sort((a, b) => (value(a) < value(b) ? -sign : sign));
  return page(call, 'volumes', sorted, volumeForm);
}

function createVolume(call: Call): Reply {
  const body = fields(call);
  const location = optional(body, 'location', isText);
  const server = optional(body, 'server', isNumber);
  const format = optional(body, 'format', isText);
  const automount = optional(body, 'automount', isTruth) ?? false;
  if (automount && server === undefined) throw new Refusal('badInput', 'automount');
  const order: VolumeOrder = {
    name: required(body, 'name', isText),
    sizeGib: required(body, 'size', isNumber),
    ...(body['labels'] === undefined ? {} : { labels: body['labels'] }),
    ...(location === undefined ? {} : { location }),
    ...(server === undefined ? {} : { server }),
    ...(format === undefined ? {} : { format }),
  };
  const { volume, action, next } = call.state.createVolume(order, call);
  const form = (one: Started): Fields => actionForm(one, call.noise);
  const actions = { action: form(action), next_actions: next.map(form) };
  return jsonReply(201, { volume: volumeForm(volume), ...actions });
}

function updateVolume(call: Call): Reply {
  const body = fields(call);
  const name = optional(body, 'name', isText);
  const labels = body['labels'];
  const change = { ...(name === undefined ? {} : { name }), ...(labels ? { labels } : {}) };
  return jsonReply(200, { volume: volumeForm(call.state.updateVolume(idOf(call), change)) });
}

function started(call: Call, action: Started): Reply {
  return jsonReply(201, { action: actionForm(action, call.noise) });
}

function actionOf(call: Call, part: number): Started {
  const action = call.state.actions.get(idOf(call, part));
  if (!action) throw new Refusal('notFound');
  return action;
}

function oneAction(call: Call, part: number): Reply {
  return jsonReply(200, { action: actionForm(actionOf(call, part), call.noise) });
}

function listActions(call: Call, all: readonly Started[]): Reply {
  const ids = values(call, 'id').map(Number);
  const found = all.filter(({ id }) => ids.length === 0 || ids.includes(id));
  return page(call, 'actions', found, (one) => actionForm(one, call.noise));
}

function serverAnswer(call: Call): Reply {
  if (!call.state.servers.has(idOf(call))) throw new Refusal('notFound');
  return jsonReply(200, { server: serverFields(call, idOf(call)) });
}

function serverFields({ state }: Call, id: number): Fields {
  const server = state.servers.get(id);
  const attached = [...state.volumes.values()].filter((one) => one.server === id);
  if (!server) throw new Refusal('notFound');
  return serverForm(
    server,
    attached.map((one) => one.id),
  );
}

/** The provider's calls for volumes, in the order in which a path is compared. */
export const routes: readonly Route[] = [
  { on: 'GET /v1/volumes', answer: listVolumes },
  { on: 'POST /v1/volumes', answer: createVolume, acts: true },
  { on: 'GET /v1/volumes/actions', answer: (call) => listActions(call, call.state.actions.all) },
  { on: 'GET /v1/volumes/actions/*', answer: (call) => oneAction(call, 0) },
  {
    on: 'GET /v1/volumes/*',
    answer: (call) => jsonReply(200, { volume: volumeForm(call.state.requireVolume(idOf(call))) }),
  },
  { on: 'PUT /v1/volumes/*', answer: updateVolume },
  {
    on: 'DELETE /v1/volumes/*',
    answer: (call) => {
      call.state.deleteVolume(idOf(call));
      return jsonReply(204);
    },
  },
  {
    on: 'GET /v1/volumes/*/actions',
    answer: (call) => {
      const { id } = call.state.requireVolume(idOf(call));
      const all = call.state.actions.all.filter(({ work }) => work.volume === id);
      return listActions(call, all);
    },
  },
  { on: 'GET /v1/volumes/*/actions/*', answer: (call) => oneAction(call, 1) },
  {
    on: 'POST /v1/volumes/*/actions/attach',
    answer: (call) => {
      const server = required(fields(call), 'server', isNumber);
      return started(call, call.state.startAttach(idOf(call), server, call));
    },
    acts: true,
  },
  {
    on: 'POST /v1/volumes/*/actions/detach',
    answer: (call) => started(call, call.state.startDetach(idOf(call), call)),
    acts: true,
  },
  {
    on: 'POST /v1/volumes/*/actions/resize',
    answer: (call) => {
      const size = required(fields(call), 'size', isNumber);
      return started(call, call.state.startResize(idOf(call), size, call));
    },
    acts: true,
  },
  {
    on: 'POST /v1/volumes/*/actions/change_protection',
    answer: (call) => {
      const protect = required(fields(call), 'delete', isTruth);
      return started(call, call.state.startProtection(idOf(call), protect, call));
    },
    acts: true,
  },
  {
    on: 'GET /v1/actions',
    answer: (call) => {
      if (values(call, 'id').length === 0) throw new Refusal('badInput', 'id');
      return listActions(call, call.state.actions.all);
    },
  },
  { on: 'GET /v1/actions/*', answer: (call) => oneAction(call, 0) },
  {
    on: 'GET /v1/servers',
    answer: (call) => {
      const name = queryValue(call.request, 'name');
      const all = [...call.state.servers.values()];
      const found = all.filter((one) => name === undefined || one.name === name);
      return page(call, 'servers', found, ({ id }) => serverFields(call, id));
    },
  },
  { on: 'GET /v1/servers/*', answer: serverAnswer },
  {
    on: 'GET /v1/locations',
    answer: (call) => {
      const name = queryValue(call.request, 'name');
      const found = locations.filter((one) => name === undefined || one.name === name);
      return page(call, 'locations', found, (one) => locationForm(one.name));
    },
  },
];
