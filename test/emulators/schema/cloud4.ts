import type { CallSchema, RequestSchema, Row, Rule } from './row.js';

/** Names the method or schema of the published definitions that has a rule. */
const from = (part: string): string => `compute.v1.json revision 20230620: ${part}`;
/** Names a message of the protobuf definition, which has the newer fields. */
const proto = (part: string): string => `googleapis/googleapis f8291d2: compute.proto, ${part}`;

const text: Rule = { type: 'text' };
const truth: Rule = { type: 'truth' };
const texts: Rule = { type: 'texts' };
/** The provider's numbers of 64 bits are texts. */
const int64: Rule = { type: 'text', pattern: /^\d{1,19}$/ };
const name: Rule = { type: 'text', pattern: /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/ };
const nameOrId: Rule = {
  type: 'text',
  pattern: /^([a-z]([-a-z0-9]{0,61}[a-z0-9])?|[1-9][0-9]{0,19})$/,
};
const projectId: Rule = {
  type: 'text',
  pattern:
    /^((([-a-z0-9]{1,63}\.)*([a-z]([-a-z0-9]{0,61}[a-z0-9])?):)?([0-9]{1,19}|([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)))$/,
};
/** A UUID other than that of zeros. */
const requestId: Rule = {
  type: 'text',
  pattern: /^(?!0{8}-(0{4}-){3}0{12}$)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
};
/**
 * Values of labels: at most 63 lower-case letters, digits, underscores and dashes. The definition only has the type.
 */
const labels: Rule = { type: 'labels', pattern: /^[a-z0-9_-]{0,63}$/ };
const labelSource = 'cloud.google.com/compute/docs/labeling-resources, requirements for labels';
/** An object without a field. */
const nothing: Rule = { type: 'labels', pattern: /(?!)/ };

/** A resource as a URL or as a part of one that names its project. */
function link(path: string): Rule {
  const host = String.raw`(https://(www|compute)\.googleapis\.com/compute/v1/)?`;
  const project = String.raw`projects/[-a-z0-9.:]+`;
  return { type: 'text', pattern: new RegExp(`^${host}${project}/${path}$`) };
}

const zonal = (kind: string): Rule => link(`zones/[-a-z0-9]+/${kind}/[-a-z0-9]+`);
const diskLink = zonal('disks');
const typeLink = zonal('diskTypes');
const snapshotLink = link('global/snapshots/[-a-z0-9]+');

function row(where: Row['in'], field: string, rule: Rule, source: string | undefined): Row {
  return { in: where, field, rule, source };
}

function required(where: Row['in'], field: string, rule: Rule, source: string | undefined): Row {
  return { ...row(where, field, rule, source), required: true };
}

/** The resources whose lists have the parameters of {@link listRows}. */
const pages = ['disks', 'snapshots', 'instances', 'zoneOperations', 'globalOperations', 'zones'];

function listRows(kind: string): readonly Row[] {
  if (!pages.includes(kind)) return [];
  const part = from(`compute.${kind}.list`);
  return [
    row('query', 'filter', text, part),
    // The definition has only the smallest value; the documentation of the method has the largest.
    row('query', 'maxResults', { type: 'whole', min: 0, max: 500 }, part),
    row('query', 'pageToken', text, part),
    row('query', 'orderBy', { type: 'text', oneOf: ['name', 'creationTimestamp desc'] }, part),
    row('query', 'returnPartialSuccess', { type: 'text', oneOf: ['true', 'false'] }, part),
  ];
}

/** Patterns of the segments of paths, each with the method that has it. */
function pathRows(path: string, method: string): readonly Row[] {
  const rules: Readonly<Record<string, Rule>> = { project: projectId, zone: name };
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) =>
    required('path', field, rules[field] ?? nameOrId, from(`compute.${method}`)),
  );
}

/** Returns the row of the request id, which calls that change something have. */
const repeatable = (method: string): Row =>
  row('query', 'requestId', requestId, from(`compute.${method}, requestId`));

const root = '/compute/v1/projects/{project}';
const inZone = `${root}/zones/{zone}`;

/** A call, named by its method in the definition. */
function call(
  verb: string,
  path: string,
  method: string,
  rows: readonly Row[] = [],
  emptyBody = false,
): CallSchema {
  const own = [...pathRows(path, method), ...rows];
  // The client sends an empty text as the body of a POST that has none.
  return {
    method: verb,
    path,
    rows: own,
    source: from(`compute.${method}`),
    ...(emptyBody ? { emptyBody: '""' } : {}),
  };
}

const list = (path: string, kind: string): CallSchema =>
  call('GET', path, `${kind}.list`, listRows(kind));

const disk = (field: string, rule: Rule): Row => row('body', field, rule, from(`Disk.${field}`));
const diskRows: readonly Row[] = [
  required('body', 'name', name, from('Disk.name')),
  // Without a size, the provider creates "an empty 500 GB data disk".
  required('body', 'sizeGb', int64, from('Disk.sizeGb')),
  required('body', 'type', typeLink, from('Disk.type')),
  disk('description', text),
  row('body', 'labels', labels, labelSource),
  disk('sourceSnapshot', snapshotLink),
  disk('provisionedIops', int64),
  disk('provisionedThroughput', int64),
  disk('physicalBlockSizeBytes', { type: 'text', oneOf: ['4096', '16384'] }),
  disk('resourcePolicies', texts),
  disk('enableConfidentialCompute', truth),
  row(
    ...(['body', 'accessMode'] as const),
    { type: 'text', oneOf: ['READ_ONLY_MANY', 'READ_WRITE_MANY', 'READ_WRITE_SINGLE'] },
    proto('Disk.access_mode'),
  ),
  row('body', 'storagePool', text, proto('Disk.storage_pool')),
  // Output only: the client sends it without content.
  row('body', 'asyncSecondaryDisks', nothing, from('Disk.asyncSecondaryDisks')),
];

function snapshotRows(extra: readonly Row[]): readonly Row[] {
  const field = (key: string, rule: Rule): Row => row('body', key, rule, from(`Snapshot.${key}`));
  return [
    required('body', 'name', name, from('Snapshot.name')),
    field('description', text),
    row('body', 'labels', labels, labelSource),
    field('storageLocations', texts),
    field('snapshotType', { type: 'text', oneOf: ['ARCHIVE', 'STANDARD'] }),
    ...extra,
  ];
}

const attached = (field: string, rule: Rule): Row =>
  row('body', field, rule, from(`AttachedDisk.${field}`));
const attachedRows: readonly Row[] = [
  required('body', 'source', diskLink, from('AttachedDisk.source')),
  // The name of the link in the instance. Without it the provider chooses one.
  required('body', 'deviceName', name, from('AttachedDisk.deviceName')),
  attached('mode', { type: 'text', oneOf: ['READ_ONLY', 'READ_WRITE'] }),
  attached('type', { type: 'text', oneOf: ['PERSISTENT'] }),
  attached('autoDelete', truth),
  attached('boot', truth),
  attached('interface', { type: 'text', oneOf: ['NVME', 'SCSI'] }),
];

function setLabelsRows(schema: string): readonly Row[] {
  return [
    required('body', 'labels', labels, labelSource),
    required('body', 'labelFingerprint', text, from(`${schema}.labelFingerprint`)),
  ];
}

const permissions = required(
  'body',
  'permissions',
  texts,
  from('TestPermissionsRequest.permissions'),
);

/** The requests of cloud4 about disks. */
export const cloud4Requests: RequestSchema = {
  headers: [
    {
      ...{ header: 'authorization', pattern: /^Bearer \S+$/, when: 'always' },
      source: from('auth, OAuth 2.0'),
    },
    {
      ...{ header: 'content-type', pattern: /^application\/json\b/, when: 'with a body' },
      source: undefined,
    },
  ],
  calls: [
    call('POST', `${inZone}/disks`, 'disks.insert', [repeatable('disks.insert'), ...diskRows]),
    list(`${inZone}/disks`, 'disks'),
    call('GET', `${inZone}/disks/{disk}`, 'disks.get'),
    call('DELETE', `${inZone}/disks/{disk}`, 'disks.delete', [repeatable('disks.delete')]),
    call('POST', `${inZone}/disks/{disk}/resize`, 'disks.resize', [
      repeatable('disks.resize'),
      required('body', 'sizeGb', int64, from('DisksResizeRequest.sizeGb')),
    ]),
    call('POST', `${inZone}/disks/{disk}/createSnapshot`, 'disks.createSnapshot', [
      repeatable('disks.createSnapshot'),
      row(
        ...(['query', 'guestFlush'] as const),
        { type: 'text', oneOf: ['true', 'false'] },
        from('compute.disks.createSnapshot'),
      ),
      ...snapshotRows([]),
    ]),
    call('POST', `${inZone}/disks/{resource}/setLabels`, 'disks.setLabels', [
      repeatable('disks.setLabels'),
      ...setLabelsRows('ZoneSetLabelsRequest'),
    ]),
    call('POST', `${inZone}/disks/{resource}/testIamPermissions`, 'disks.testIamPermissions', [
      permissions,
    ]),
    call('POST', `${root}/global/snapshots`, 'snapshots.insert', [
      repeatable('snapshots.insert'),
      ...snapshotRows([required('body', 'sourceDisk', diskLink, from('Snapshot.sourceDisk'))]),
    ]),
    list(`${root}/global/snapshots`, 'snapshots'),
    call('GET', `${root}/global/snapshots/{snapshot}`, 'snapshots.get'),
    call('DELETE', `${root}/global/snapshots/{snapshot}`, 'snapshots.delete', [
      repeatable('snapshots.delete'),
    ]),
    call(
      'POST',
      `${root}/global/snapshots/{resource}/setLabels`,
      'snapshots.setLabels',
      setLabelsRows('GlobalSetLabelsRequest'),
    ),
    call('GET', `${inZone}/instances/{instance}`, 'instances.get'),
    list(`${inZone}/instances`, 'instances'),
    call('POST', `${inZone}/instances/{instance}/attachDisk`, 'instances.attachDisk', [
      // Not forceAttach, which zonal disks refuse.
      repeatable('instances.attachDisk'),
      ...attachedRows,
    ]),
    call(
      'POST',
      `${inZone}/instances/{instance}/detachDisk`,
      'instances.detachDisk',
      [
        repeatable('instances.detachDisk'),
        required('query', 'deviceName', name, from('compute.instances.detachDisk')),
      ],
      true,
    ),
    call('GET', `${inZone}/operations/{operation}`, 'zoneOperations.get'),
    call('POST', `${inZone}/operations/{operation}/wait`, 'zoneOperations.wait', [], true),
    list(`${inZone}/operations`, 'zoneOperations'),
    call('GET', `${root}/global/operations/{operation}`, 'globalOperations.get'),
    call('POST', `${root}/global/operations/{operation}/wait`, 'globalOperations.wait', [], true),
    list(`${root}/global/operations`, 'globalOperations'),
    call('GET', inZone, 'zones.get'),
    list(`${root}/zones`, 'zones'),
    // The definition is an extract without the permissions of instances; the provider documents them.
    {
      ...call('POST', `${inZone}/instances/{resource}/testIamPermissions`, '', [permissions]),
      source: 'cloud.google.com/compute/docs/reference/rest/v1/instances/testIamPermissions',
    },
    {
      ...call('POST', `${root}/global/snapshots/{resource}/testIamPermissions`, '', [permissions]),
      source: 'cloud.google.com/compute/docs/reference/rest/v1/snapshots/testIamPermissions',
    },
  ],
};
