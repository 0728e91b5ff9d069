import type { CallSchema, RequestSchema, Row, Rule } from './row.js';

/** Names the operation or file of the published definition that has a rule. */
const from = (part: string): string => `digitalocean/openapi 7c1300c: ${part}`;

const text: Rule = { type: 'text' };
const uuid: Rule = { type: 'text', pattern: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/ };
/** The slug of a region. The provider adds regions at times, so only the form is checked. */
const slug: Rule = { type: 'text', pattern: /^[a-z]{3}\d$/ };
const volumeNameRule: Rule = { type: 'text', pattern: /^[a-z][a-z0-9-]*$/, lengthMax: 64 };

function row(where: Row['in'], field: string, rule: Rule, part: string): Row {
  return { in: where, field, rule, source: from(part) };
}

function required(where: Row['in'], field: string, rule: Rule, part: string): Row {
  return { ...row(where, field, rule, part), required: true };
}

const pages: readonly Row[] = [
  row('query', 'per_page', { type: 'whole', min: 1, max: 200 }, 'shared/parameters.yml'),
  row('query', 'page', { type: 'whole', min: 1 }, 'shared/parameters.yml'),
];
const volumeId = required('path', 'volume_id', uuid, 'volumes/parameters.yml');
const actionId = required('path', 'action_id', { type: 'whole', min: 1 }, 'actions/parameters.yml');
const snapshotId = required('path', 'snapshot_id', text, 'snapshots/parameters.yml');
const dropletId = required(
  ...(['path', 'droplet_id', { type: 'whole', min: 1 }, 'droplets/parameters.yml'] as const),
);
const tags: Row = {
  ...row('body', 'tags', { type: 'texts' }, 'shared/attributes/tags_array.yml'),
  nullable: true,
};

function call(
  method: string,
  path: string,
  operation: string,
  rows: readonly Row[] = [],
): CallSchema {
  return { method, path, rows, source: from(operation) };
}

/** The field with the volume's name, if the path has no volume. Clients send it, but the definition lacks it. */
const volumeName: Row = { in: 'body', field: 'volume_name', rule: text, source: undefined };

const nameAndRegion: readonly Row[] = [
  row('query', 'name', text, 'volumes_list'),
  row('query', 'region', slug, 'volumes_list'),
];

/** Returns the rows of an attachment or detachment, except those that name the volume. */
function droplet(kind: 'attach' | 'detach'): readonly Row[] {
  const part = `volumes/models/volume_action_post_${kind}`;
  return [
    required('body', 'type', { type: 'text', oneOf: [kind] }, part),
    required('body', 'droplet_id', { type: 'whole' }, part),
    row('body', 'region', slug, part),
    ...(kind === 'attach' ? [tags] : []),
  ];
}

const resizePart = 'volumes/models/volume_action_post_resize';
const resize: readonly Row[] = [
  required('body', 'type', { type: 'text', oneOf: ['resize'] }, resizePart),
  required('body', 'size_gigabytes', { type: 'whole', max: 16_384 }, resizePart),
  row('body', 'region', slug, resizePart),
];

const createVolume: readonly Row[] = [
  required('body', 'name', volumeNameRule, 'volumes/models/volume_base.yml'),
  required('body', 'size_gigabytes', { type: 'whole' }, 'volumes/models/volume_base.yml'),
  {
    // The bounds of the size are in no definition; those of the resize are an upper bound.
    ...{ in: 'body', field: 'size_gigabytes', rule: { type: 'whole', min: 1, max: 16_384 } },
    source: undefined,
  },
  required('body', 'region', slug, 'volumes_create'),
  row('body', 'description', text, 'volumes/models/volume_base.yml'),
  row('body', 'snapshot_id', text, 'volumes_create'),
  row(
    ...(['body', 'filesystem_type'] as const),
    { type: 'text', oneOf: ['', 'ext4', 'xfs'] },
    'volumes/models/attributes.yml',
  ),
  row(
    ...(['body', 'filesystem_label', { type: 'text', lengthMax: 16 }] as const),
    'volumes/models/attributes.yml',
  ),
  tags,
];

/**
 * The requests of cloud1 that a driver of volumes needs. A `source` names a part of the published definition, which lacks
 * the rows without one.
 */
export const cloud1Requests: RequestSchema = {
  headers: [
    {
      ...{ header: 'authorization', pattern: /^Bearer \S+$/, when: 'always' },
      source: from('shared/description.md, OAuth Authentication'),
    },
    {
      ...{ header: 'content-type', pattern: /^application\/json\b/, when: 'with a body' },
      source: from('shared/description.md, Parameters'),
    },
  ],
  calls: [
    call('GET', '/v2/volumes', 'volumes_list', [...nameAndRegion, ...pages]),
    call('POST', '/v2/volumes', 'volumes_create', createVolume),
    call('DELETE', '/v2/volumes', 'volumes_delete_byName', nameAndRegion),
    {
      ...call('POST', '/v2/volumes/actions', 'volumeActions_post', pages),
      variants: {
        ...{ by: 'type', source: from('volumeActions_post') },
        rows: {
          attach: [...droplet('attach'), volumeName],
          detach: [...droplet('detach'), volumeName],
        },
      },
    },
    // Before the paths with an id, which would fit too.
    call('GET', '/v2/volumes/snapshots/{snapshot_id}', 'volumeSnapshots_get_byId', [snapshotId]),
    call('DELETE', '/v2/volumes/snapshots/{snapshot_id}', 'volumeSnapshots_delete_byId', [
      snapshotId,
    ]),
    call('GET', '/v2/volumes/{volume_id}', 'volumes_get', [volumeId]),
    call('DELETE', '/v2/volumes/{volume_id}', 'volumes_delete', [volumeId]),
    call('GET', '/v2/volumes/{volume_id}/actions', 'volumeActions_list', [volumeId, ...pages]),
    {
      ...call('POST', '/v2/volumes/{volume_id}/actions', 'volumeActions_post_byId', [
        ...[volumeId, ...pages],
      ]),
      variants: {
        ...{ by: 'type', source: from('volumeActions_post_byId') },
        rows: { attach: droplet('attach'), detach: droplet('detach'), resize },
      },
    },
    call('GET', '/v2/volumes/{volume_id}/actions/{action_id}', 'volumeActions_get', [
      ...[volumeId, actionId, ...pages],
    ]),
    call('GET', '/v2/volumes/{volume_id}/snapshots', 'volumeSnapshots_list', [volumeId, ...pages]),
    call('POST', '/v2/volumes/{volume_id}/snapshots', 'volumeSnapshots_create', [
      volumeId,
      required('body', 'name', text, 'volumeSnapshots_create'),
      tags,
    ]),
    call('GET', '/v2/snapshots', 'snapshots_list', [
      ...pages,
      row(
        ...(['query', 'resource_type'] as const),
        { type: 'text', oneOf: ['droplet', 'volume'] },
        'snapshots_list',
      ),
    ]),
    call('GET', '/v2/snapshots/{snapshot_id}', 'snapshots_get', [snapshotId]),
    call('DELETE', '/v2/snapshots/{snapshot_id}', 'snapshots_delete', [snapshotId]),
    call('GET', '/v2/actions', 'actions_list', pages),
    call('GET', '/v2/actions/{action_id}', 'actions_get', [actionId]),
    call('GET', '/v2/droplets', 'droplets_list', [
      ...pages,
      row('query', 'tag_name', text, 'droplets_list'),
      row('query', 'name', text, 'droplets_list'),
      row('query', 'type', { type: 'text', oneOf: ['droplets', 'gpus'] }, 'droplets_list'),
    ]),
    call('GET', '/v2/droplets/{droplet_id}', 'droplets_get', [dropletId]),
  ],
};
