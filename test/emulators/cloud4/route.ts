import { type ActionFate } from '../core/actions.js';
import { type Later } from '../core/machine.js';
import { jsonReply, queryValue, type Reply, type WireRequest } from '../core/wire.js';
import { type Caller } from './accounts.js';
import { listReply } from './list.js';
import { startLabels } from './orders.js';
import { type Fields, fields, labelsOf } from './parse.js';
import { Refusal } from './refusals.js';
import { operationForm } from './render.js';
import { type Disk, type Started } from './resources.js';
import { isRequestId } from './rules.js';
import { type State, type Timed } from './state.js';

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

/** Requires a permission of the caller. @throws Refusal */
export function need({ caller }: Call, permission: string, resource: string): void {
  if (!caller.may(permission)) throw new Refusal('forbidden', permission, resource);
}

/**
 * Starts the operation of a request, unless an earlier request with the same id did, and answers with it. @throws
 * Refusal
 */
export function once(call: Call, body: Fields, start: (request: Timed) => Started): Reply {
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

/** Answers with a page of a list. */
export function list(call: Call, kind: string, items: readonly Fields[]): Reply {
  return listReply(call.request, { kind, items, pageMax: call.pageMax });
}

/** Starts to replace the labels of a resource. */
export function setLabels(
  call: Call,
  resource: Disk | ReturnType<State['requireSnapshot']>,
): Reply {
  const body = fields(call.request);
  const labels = labelsOf(body);
  return once(call, body, (request) => startLabels(call.state, resource, { labels, request }));
}

/** Answers with the requested permissions that the caller has. @throws Refusal for one of another kind of resource */
export function permissions(call: Call, kind: string): Reply {
  const { permissions: asked } = fields(call.request);
  const all = Array.isArray(asked) ? asked.map(String) : [];
  const foreign = all.find((one) => !one.startsWith(`compute.${kind}.`));
  if (foreign !== undefined)
    throw new Refusal('invalid', 'resource.permissions', foreign, 'Invalid permission.');
  const granted = all.filter((one) => call.caller.may(one));
  return jsonReply(200, granted.length === 0 ? {} : { permissions: granted });
}
