import type { ActionFate } from '../core/actions.js';
import { pageNumbers, pageOf } from '../core/pages.js';
import { bodyObject, jsonReply, queryValue, type Reply, type WireRequest } from '../core/wire.js';
import { Refusal } from './refusals.js';
import { actionForm, dropletForm, listForm, snapshotForm, volumeForm } from './render.js';
import { limits } from './rules.js';
import type { Started, State, VolumeOrder } from './state.js';

/** The arguments of a route. */
export interface Call {
  readonly state: State;
  readonly request: WireRequest;
  /** The segments of the path at the stars of the route, in order. */
  readonly parts: readonly string[];
  readonly now: number;
  readonly fate: ActionFate;
  /** Checks that the token has a scope. @throws Refusal forbidden if it lacks the scope */
  readonly requireScope: (scope: string) => void;
}

/** A method and a path. A token needs every one of the scopes. */
export interface Route {
  readonly on: string;
  readonly scopes: readonly string[];
  readonly answer: (call: Call) => Reply;
  /** Whether the route starts an action. */
  readonly acts?: true;
}

type Fields = Readonly<Record<string, unknown>>;

function fields({ request }: Call): Fields {
  const body = bodyObject(request);
  if (!body) throw new Refusal('badBody');
  return body;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isWhole = (value: unknown): value is number => Number.isInteger(value);

function text(body: Fields, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!isText(value)) throw new Refusal('badBody');
  return value;
}

function wholeNumber(body: Fields, name: string): number {
  const value = body[name];
  if (!isWhole(value)) throw new Refusal('badBody');
  return value;
}

/** Returns the tags of a new resource. @throws Refusal if they are no texts, or if the token may not create tags */
function tagsOf(call: Call, body: Fields): readonly string[] {
  const tags = body['tags'] ?? [];
  if (!Array.isArray(tags) || !tags.every(isText)) throw new Refusal('badBody');
  if (tags.length > 0) call.requireScope('tag:create');
  return tags;
}

function page<T>(call: Call, key: string, all: readonly T[], form: (one: T) => Fields): Reply {
  const given = { page: queryValue(call.request, 'page') };
  const numbers = pageNumbers({ ...given, perPage: queryValue(call.request, 'per_page') }, limits);
  if (!numbers) throw new Refusal('badPage');
  const { items, ...rest } = pageOf(all, numbers);
  return jsonReply(200, listForm(key, { ...rest, items: items.map(form) }, call.request));
}

function actionBody({ state }: Call, action: Started): Fields {
  return { action: actionForm(action, state.volumes.get(action.work.volume)?.region) };
}

function createVolume(call: Call): Reply {
  const body = fields(call);
  const name = text(body, 'name');
  if (name === undefined) throw new Refusal('badName');
  const snapshot = text(body, 'snapshot_id');
  const description = text(body, 'description');
  const fileSystem = text(body, 'filesystem_type');
  const label = text(body, 'filesystem_label');
  const order: VolumeOrder = {
    name,
    region: text(body, 'region'),
    sizeGib: wholeNumber(body, 'size_gigabytes'),
    tags: tagsOf(call, body),
    ...(snapshot === undefined || snapshot === '' ? {} : { snapshot }),
    ...(description === undefined ? {} : { description }),
    ...(fileSystem === undefined ? {} : { fileSystem }),
    ...(label === undefined ? {} : { label }),
  };
  return jsonReply(201, { volume: volumeForm(call.state.createVolume(order, call.now)) });
}

function startAction(call: Call): Reply {
  const { state } = call;
  const [id = ''] = call.parts;
  const body = fields(call);
  const region = text(body, 'region');
  const start = (): Started => {
    switch (body['type']) {
      case 'attach':
        return state.startAttach(id, wholeNumber(body, 'droplet_id'), region, call);
      case 'detach':
        return state.startDetach(id, wholeNumber(body, 'droplet_id'), region, call);
      case 'resize':
        return state.startResize(id, wholeNumber(body, 'size_gigabytes'), region, call);
      default:
        throw new Refusal('badAction');
    }
  };
  return jsonReply(202, actionBody(call, start()));
}

function actionOf(call: Call, part: number): Started {
  const action = call.state.actions.get(Number(call.parts[part]));
  if (!action) throw new Refusal('notFound');
  return action;
}

function listDroplets(call: Call): Reply {
  const { state, request } = call;
  const name = queryValue(request, 'name')?.toLowerCase();
  // Plain lists have no GPU droplets.
  const gpu = queryValue(request, 'type') === 'gpus';
  const found = [...state.droplets.values()].filter(
    (one) => (one.gpu ?? false) === gpu && (name === undefined || one.name.toLowerCase() === name),
  );
  return page(call, 'droplets', found, (one) => dropletOf(call, one.id));
}

function dropletOf({ state }: Call, id: number): Fields {
  const droplet = state.droplets.get(id);
  if (!droplet) throw new Refusal('notFound');
  const attached = [...state.volumes.values()].filter((one) => one.droplet === id);
  return dropletForm(
    droplet,
    attached.map((one) => one.id),
  );
}

function createSnapshot(call: Call): Reply {
  const body = fields(call);
  const name = text(body, 'name');
  if (name === undefined || name === '') throw new Refusal('badName');
  const made = call.state.createSnapshot(call.parts[0] ?? '', name, tagsOf(call, body), call.now);
  return jsonReply(201, { snapshot: snapshotForm(made) });
}

function snapshotAnswer({ state, parts }: Call): Reply {
  return jsonReply(200, { snapshot: snapshotForm(state.requireSnapshot(parts[0] ?? '')) });
}

function deleteSnapshot({ state, parts }: Call): Reply {
  state.deleteSnapshot(parts[0] ?? '');
  return jsonReply(204);
}

/** The provider's calls for volumes, in the order in which a path is compared. */
export const routes: readonly Route[] = [
  {
    on: 'GET /v2/volumes',
    scopes: ['block_storage:read'],
    answer: (call) => {
      const { state, request } = call;
      const region = queryValue(request, 'region');
      const found = state.listVolumes(queryValue(request, 'name'), region);
      return page(call, 'volumes', found, volumeForm);
    },
  },
  { on: 'POST /v2/volumes', scopes: ['block_storage:create'], answer: createVolume },
  {
    on: 'GET /v2/volumes/snapshots/*',
    scopes: ['block_storage_snapshot:read'],
    answer: snapshotAnswer,
  },
  {
    on: 'DELETE /v2/volumes/snapshots/*',
    scopes: ['block_storage_snapshot:delete'],
    answer: deleteSnapshot,
  },
  {
    on: 'GET /v2/volumes/*',
    scopes: ['block_storage:read'],
    answer: ({ state, parts }) =>
      jsonReply(200, { volume: volumeForm(state.requireVolume(parts[0] ?? '')) }),
  },
  {
    on: 'DELETE /v2/volumes/*',
    scopes: ['block_storage:delete'],
    answer: ({ state, parts }) => {
      state.deleteVolume(parts[0] ?? '');
      return jsonReply(204);
    },
  },
  {
    on: 'POST /v2/volumes/*/actions',
    scopes: ['block_storage_action:create'],
    answer: startAction,
    acts: true,
  },
  {
    on: 'GET /v2/volumes/*/actions',
    scopes: ['block_storage_action:read'],
    answer: (call) => {
      const { id } = call.state.requireVolume(call.parts[0] ?? '');
      const all = call.state.actions.all.filter(({ work }) => work.volume === id);
      return page(call, 'actions', all, (one) => actionForm(one, undefined));
    },
  },
  {
    on: 'GET /v2/volumes/*/actions/*',
    scopes: ['block_storage_action:read'],
    answer: (call) => jsonReply(200, actionBody(call, actionOf(call, 1))),
  },
  {
    on: 'POST /v2/volumes/*/snapshots',
    scopes: ['block_storage_snapshot:create'],
    answer: createSnapshot,
  },
  {
    on: 'GET /v2/volumes/*/snapshots',
    scopes: ['block_storage_snapshot:read'],
    answer: (call) => {
      const { id } = call.state.requireVolume(call.parts[0] ?? '');
      const all = [...call.state.snapshots.values()].filter(({ volume }) => volume === id);
      return page(call, 'snapshots', all, snapshotForm);
    },
  },
  {
    on: 'GET /v2/snapshots',
    scopes: ['snapshot:read'],
    answer: (call) => {
      // The emulator has no snapshots of Droplets.
      const others = queryValue(call.request, 'resource_type') === 'droplet';
      return page(
        ...([call, 'snapshots', others ? [] : [...call.state.snapshots.values()]] as const),
        snapshotForm,
      );
    },
  },
  {
    on: 'GET /v2/snapshots/*',
    scopes: ['snapshot:read', 'block_storage_snapshot:read'],
    answer: snapshotAnswer,
  },
  {
    on: 'DELETE /v2/snapshots/*',
    scopes: ['image:delete', 'snapshot:delete'],
    answer: deleteSnapshot,
  },
  {
    on: 'GET /v2/actions/*',
    scopes: ['actions:read'],
    answer: (call) => jsonReply(200, actionBody(call, actionOf(call, 0))),
  },
  { on: 'GET /v2/droplets', scopes: ['droplet:read'], answer: listDroplets },
  {
    on: 'GET /v2/droplets/*',
    scopes: ['droplet:read'],
    answer: (call) => jsonReply(200, { droplet: dropletOf(call, Number(call.parts[0])) }),
  },
];
