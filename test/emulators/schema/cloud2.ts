import type { CallSchema, RequestSchema, Row, Rule } from './row.js';

/** Names the operation or schema of the published definition that has a rule. */
const from = (part: string): string => `MaximilianKoestler/hcloud-openapi 5f93a6d: ${part}`;

const text: Rule = { type: 'text' };
const truth: Rule = { type: 'truth' };
const id: Rule = { type: 'whole', min: 0, max: Number.MAX_SAFE_INTEGER };
const labels: Rule = {
  type: 'labels',
  pattern: /^(()|[a-z0-9A-Z]|([a-z0-9A-Z][a-z0-9A-Z._-]{0,61}[a-z0-9A-Z]))$/,
};

function row(where: Row['in'], field: string, rule: Rule, part: string): Row {
  return { in: where, field, rule, source: from(part) };
}

function required(where: Row['in'], field: string, rule: Rule, part: string): Row {
  return { ...row(where, field, rule, part), required: true };
}

/** Returns a row without a published source. Its rule is derived from clients and from experience. */
function unseen(where: Row['in'], field: string, rule: Rule): Row {
  return { in: where, field, rule, source: undefined };
}

function pages(operation: string): readonly Row[] {
  return [
    row('query', 'page', { type: 'whole' }, operation),
    row('query', 'per_page', { type: 'whole' }, operation),
    unseen('query', 'page', { type: 'whole', min: 1 }),
    unseen('query', 'per_page', { type: 'whole', min: 1, max: 50 }),
  ];
}

function choices(field: string, oneOf: readonly string[], operation: string): Row {
  return { ...row('query', field, { type: 'text', oneOf }, operation), several: true };
}

function sorted(fields: readonly string[]): readonly string[] {
  return fields.flatMap((field) => [field, `${field}:asc`, `${field}:desc`]);
}

function call(
  method: string,
  path: string,
  operation: string,
  rows: readonly Row[] = [],
): CallSchema {
  return { method, path, rows, source: from(operation) };
}

function ofVolume(operation: string): Row {
  return required('path', 'id', id, operation);
}

function actionList(operation: string): readonly Row[] {
  const fields = ['id', 'command', 'status', 'started', 'finished'];
  return [
    choices('sort', sorted(fields), operation),
    choices('status', ['running', 'success', 'error'], operation),
    ...pages(operation),
  ];
}

const volumeStates = ['available', 'creating'];
const serverStates = [
  ...['running', 'initializing', 'starting', 'stopping', 'off', 'deleting'],
  ...['migrating', 'rebuilding', 'unknown'],
];
const byName = sorted(['id', 'name', 'created']);
const nameRule: Rule = {
  type: 'text',
  pattern: /^[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$/,
  lengthMax: 64,
};

const createVolume: readonly Row[] = [
  required('body', 'name', text, 'create_volume_request'),
  unseen('body', 'name', nameRule),
  required('body', 'size', { type: 'whole' }, 'create_volume_request'),
  row('body', 'size', { type: 'number', min: 10, max: 10_240 }, 'volume.size, description'),
  row('body', 'location', text, 'create_volume_request'),
  row('body', 'server', { type: 'whole' }, 'create_volume_request'),
  row('body', 'labels', labels, 'labels'),
  row('body', 'automount', truth, 'create_volume_request'),
  row('body', 'format', text, 'create_volume_request'),
  unseen('body', 'format', { type: 'text', oneOf: ['ext4', 'xfs'] }),
];

/**
 * The requests of cloud2 that a driver of volumes needs. A `source` names a part of the published definition, which lacks
 * the rows without one.
 */
export const cloud2Requests: RequestSchema = {
  headers: [
    {
      ...{ header: 'authorization', pattern: /^Bearer \S+$/, when: 'always' },
      source: 'docs.hetzner.cloud, Getting Started',
    },
    {
      ...{ header: 'content-type', pattern: /^application\/json\b/, when: 'with a body' },
      source: from('requestBody.content of every call with a body'),
    },
  ],
  calls: [
    call('GET', '/v1/volumes', 'list_volumes', [
      choices('status', volumeStates, 'list_volumes'),
      choices('sort', byName, 'list_volumes'),
      row('query', 'name', text, 'list_volumes'),
      row('query', 'label_selector', text, 'list_volumes'),
      ...pages('list_volumes'),
    ]),
    call('POST', '/v1/volumes', 'create_volume', createVolume),
    call('GET', '/v1/volumes/actions', 'list_volume_actions', [
      { ...row('query', 'id', id, 'list_volume_actions'), several: true },
      ...actionList('list_volume_actions'),
    ]),
    call('GET', '/v1/volumes/actions/{id}', 'get_volume_action', [ofVolume('get_volume_action')]),
    call('GET', '/v1/volumes/{id}', 'get_volume', [ofVolume('get_volume')]),
    call('PUT', '/v1/volumes/{id}', 'replace_volume', [
      ofVolume('replace_volume'),
      row('body', 'name', text, 'replace_volume_request'),
      row('body', 'labels', labels, 'labels'),
    ]),
    call('DELETE', '/v1/volumes/{id}', 'delete_volume', [ofVolume('delete_volume')]),
    call('GET', '/v1/volumes/{id}/actions', 'list_actions_for_volume', [
      ofVolume('list_actions_for_volume'),
      ...actionList('list_actions_for_volume'),
    ]),
    call('GET', '/v1/volumes/{id}/actions/{action_id}', 'get_action_for_volume', [
      ofVolume('get_action_for_volume'),
      required('path', 'action_id', id, 'get_action_for_volume'),
    ]),
    call('POST', '/v1/volumes/{id}/actions/attach', 'attach_volume_to_server', [
      ofVolume('attach_volume_to_server'),
      required('body', 'server', { type: 'whole' }, 'attach_volume_to_server_request'),
      row('body', 'automount', truth, 'attach_volume_to_server_request'),
    ]),
    call('POST', '/v1/volumes/{id}/actions/detach', 'detach_volume', [ofVolume('detach_volume')]),
    call('POST', '/v1/volumes/{id}/actions/resize', 'resize_volume', [
      ofVolume('resize_volume'),
      required('body', 'size', { type: 'number' }, 'resize_volume_request'),
      unseen('body', 'size', { type: 'whole', min: 10, max: 10_240 }),
    ]),
    call('POST', '/v1/volumes/{id}/actions/change_protection', 'change_volume_protection', [
      ofVolume('change_volume_protection'),
      row('body', 'delete', truth, 'change_volume_protection_request'),
    ]),
    call('GET', '/v1/actions', 'get_multiple_actions', [
      { ...required('query', 'id', id, 'get_multiple_actions'), several: true },
    ]),
    call('GET', '/v1/actions/{id}', 'get_action', [ofVolume('get_action')]),
    call('GET', '/v1/servers', 'list_servers', [
      row('query', 'name', text, 'list_servers'),
      row('query', 'label_selector', text, 'list_servers'),
      choices('sort', byName, 'list_servers'),
      choices('status', serverStates, 'list_servers'),
      ...pages('list_servers'),
    ]),
    call('GET', '/v1/servers/{id}', 'get_server', [ofVolume('get_server')]),
    call('GET', '/v1/locations', 'list_locations', [
      row('query', 'name', text, 'list_locations'),
      choices('sort', sorted(['id', 'name']), 'list_locations'),
      ...pages('list_locations'),
    ]),
  ],
};
