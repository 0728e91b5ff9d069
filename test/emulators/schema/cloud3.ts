import { cloud3Filters } from './cloud3-filters.js';
import type { FormCall, FormFields, FormRow, FormRule, FormSchema } from './form.js';
import type { Rule } from './row.js';

/** Names the shape of the published definition that has a rule. */
const from = (part: string): string =>
  `boto/botocore 0e6e240, ec2/2016-11-15/service-2.json: ${part}`;
/** Names the page of the provider's documentation that has a rule. */
const page = (name: string): string => `docs.aws.amazon.com/AWSEC2/latest: ${name}`;

const text: Rule = { type: 'text' };
const truth: Rule = { type: 'truth' };
const whole: Rule = { type: 'whole' };
/** Ids have 8 or 17 digits (EC2 user guide, Resource IDs). */
const idOf = (kind: string): Rule => ({
  type: 'text',
  pattern: new RegExp(`^${kind}-(?:[0-9a-f]{8}|[0-9a-f]{17})$`),
});
const volumeId = idOf('vol');
const instanceId = idOf('i');
const snapshotId = idOf('snap');
const types = ['standard', 'io1', 'io2', 'gp2', 'sc1', 'st1', 'gp3'] as const;
type VolumeType = (typeof types)[number];
const volumeType: Rule = { type: 'text', oneOf: types };

function row(field: string, rule: Rule, part: string): FormRow {
  return { field, rule, source: from(part) };
}

function required(field: string, rule: Rule, part: string): FormRow {
  return { ...row(field, rule, part), required: true };
}

/** Returns an action with its fields. Each may be sent with `DryRun`. */
function action(name: string, rows: readonly FormRow[], rules: readonly FormRule[] = []): FormCall {
  const dryRun = row('DryRun', truth, `${name}Request`);
  return { action: name, rows: [dryRun, ...rows], rules, source: from(name) };
}

/** The fields of a tag below a prefix. The definition has 127 characters; pages about other services have 128. */
function tags(prefix: string, part: string): readonly FormRow[] {
  const key: Rule = { type: 'text', pattern: /^(?!aws:)./i, lengthMax: 127 };
  return [
    row(`${prefix}.Key`, key, `${part}, Tag`),
    row(`${prefix}.Value`, { type: 'text', lengthMax: 256 }, `${part}, Tag`),
  ];
}

function tagSpecifications(name: string, resource: string): readonly FormRow[] {
  const part = `${name}Request, TagSpecificationList`;
  const kind: Rule = { type: 'text', oneOf: [resource] };
  return [
    row('TagSpecification.N.ResourceType', kind, part),
    ...tags('TagSpecification.N.Tag.N', part),
  ];
}

/** The fields of a call that lists: filters and pages. */
function list(
  name: keyof typeof cloud3Filters,
  max?: { readonly max: number },
): readonly FormRow[] {
  const part = `${name}Request`;
  return [
    row('Filter.N.Name', cloud3Filters[name], `${part}, names of filters in its text`),
    row('Filter.N.Value.N', text, `${part}, FilterList`),
    row('NextToken', text, part),
    row('MaxResults', whole, part),
    // The bounds are in no publication that was seen.
    ...(max
      ? [
          {
            field: 'MaxResults',
            rule: { type: 'whole', min: 5, ...max },
            source: undefined,
          } as const,
        ]
      : []),
  ];
}

const ranges: Readonly<Record<VolumeType, readonly [number, number]>> = {
  gp2: [1, 16_384],
  gp3: [1, 65_536],
  io1: [4, 16_384],
  io2: [4, 65_536],
  st1: [125, 16_384],
  sc1: [125, 16_384],
  standard: [1, 1_024],
};
const iops: Readonly<Partial<Record<VolumeType, readonly [number, number]>>> = {
  gp3: [3_000, 80_000],
  io1: [100, 64_000],
  io2: [100, 256_000],
};
const throughput: Readonly<Partial<Record<VolumeType, readonly [number, number]>>> = {
  gp3: [125, 2_000],
};

/** Returns the type of a volume to create. The provider's default is gp2. */
function typeIn(fields: FormFields): VolumeType {
  return types.find((type) => type === fields.get('VolumeType')) ?? 'gp2';
}

function within(
  field: string,
  limits: Readonly<Partial<Record<VolumeType, readonly [number, number]>>>,
): FormRule {
  return {
    what: `${field} of each type`,
    source: from(`CreateVolumeRequest, text of ${field}`),
    complaint: (fields) => {
      const given = fields.get(field);
      if (given === undefined) return undefined;
      const type = typeIn(fields);
      const [min, max] = limits[type] ?? [];
      if (min === undefined || max === undefined) return `${field} is not for volumes of ${type}`;
      const fits = Number(given) >= min && Number(given) <= max;
      return fits ? undefined : `${field} ${given} is not within ${min} to ${max} for ${type}`;
    },
  };
}

const createVolumeRules: readonly FormRule[] = [
  within('Size', ranges),
  within('Iops', iops),
  within('Throughput', throughput),
  {
    what: 'a size or a snapshot',
    source: from('CreateVolumeRequest, text of Size'),
    complaint: (fields) =>
      fields.has('Size') || fields.has('SnapshotId') ? undefined : 'Size or SnapshotId is missing',
  },
  {
    what: 'one zone',
    source: from('CreateVolumeRequest, text of AvailabilityZone'),
    complaint: (fields) =>
      fields.has('AvailabilityZone') === fields.has('AvailabilityZoneId')
        ? 'AvailabilityZone or AvailabilityZoneId is needed, and not both'
        : undefined,
  },
  {
    what: 'IOPS of io1 and io2',
    source: from('CreateVolumeRequest, text of Iops'),
    complaint: (fields) =>
      ['io1', 'io2'].includes(typeIn(fields)) && !fields.has('Iops')
        ? `Iops is missing for ${typeIn(fields)}`
        : undefined,
  },
  {
    what: 'a key only for an encrypted volume',
    source: from('CreateVolumeRequest, text of KmsKeyId'),
    complaint: (fields) =>
      fields.has('KmsKeyId') && fields.get('Encrypted') !== 'true'
        ? 'KmsKeyId needs Encrypted true'
        : undefined,
  },
  {
    what: 'a client token, without which a repeated request makes a second volume',
    source: page('Ensuring idempotency in Amazon EC2 API requests'),
    complaint: (fields) => (fields.has('ClientToken') ? undefined : 'ClientToken is missing'),
  },
];

function notWithIds(ids: string): FormRule {
  return {
    what: `no page size together with ${ids}`,
    source: from('DescribeInstancesRequest, text of MaxResults'),
    complaint: (fields) =>
      fields.has('MaxResults') && fields.has(`${ids}.1`)
        ? `MaxResults is not allowed together with ${ids}`
        : undefined,
  };
}

const createVolume = 'CreateVolumeRequest';
const device: FormRow = {
  ...{ field: 'Device', rule: { type: 'text', pattern: /^\/dev\/(?:sd|xvd)[a-z]{1,2}\d*$/ } },
  source: page('Device names for volumes on Amazon EC2 instances'),
};
const managed = (name: string): FormRow => row('IncludeManagedResources', truth, `${name}Request`);

/** The requests of cloud3 about volumes. The rows that name a source have it from the definition or the documentation. */
export const cloud3Requests: FormSchema = {
  headers: [
    {
      header: 'authorization',
      pattern:
        /^AWS4-HMAC-SHA256 Credential=[^/\s]+\/\d{8}\/[a-z0-9-]+\/ec2\/aws4_request, SignedHeaders=(?:[a-z0-9-]+;)*host(?:;[a-z0-9-]+)*, Signature=[0-9a-f]{64}$/,
      when: 'always',
      source: page('Common query parameters, Signature Version 4'),
    },
    {
      ...{ header: 'x-amz-date', pattern: /^\d{8}T\d{6}Z$/, when: 'always' },
      source: page('Common query parameters, X-Amz-Date'),
    },
    {
      header: 'content-type',
      pattern: /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i,
      ...{ when: 'always', source: page('Query requests for Amazon EC2') },
    },
  ],
  common: [
    {
      ...{ field: 'Action', rule: text, required: true },
      source: page('Common query parameters, Action'),
    },
    required('Version', { type: 'text', oneOf: ['2016-11-15'] }, 'metadata'),
  ],
  calls: [
    action(
      'CreateVolume',
      [
        row('AvailabilityZone', { type: 'text', pattern: /^[a-z0-9-]+\d[a-z]?$/ }, createVolume),
        row('AvailabilityZoneId', text, createVolume),
        row('Encrypted', truth, createVolume),
        row('Iops', whole, createVolume),
        row('KmsKeyId', text, createVolume),
        row('OutpostArn', text, createVolume),
        row('Size', { type: 'whole', min: 1, max: 65_536 }, createVolume),
        row('SnapshotId', snapshotId, createVolume),
        row('VolumeType', volumeType, createVolume),
        ...tagSpecifications('CreateVolume', 'volume'),
        row('MultiAttachEnabled', truth, createVolume),
        row('Throughput', whole, createVolume),
        row('ClientToken', text, createVolume),
        {
          field: 'ClientToken',
          rule: { type: 'text', pattern: /^[\x21-\x7e]*$/, lengthMax: 64 },
          // The length was seen only for another call of EBS.
          source: undefined,
        },
        row('VolumeInitializationRate', whole, createVolume),
        row('Operator.Principal', text, createVolume),
      ],
      createVolumeRules,
    ),
    action('DeleteVolume', [required('VolumeId', volumeId, 'DeleteVolumeRequest')]),
    action('DescribeVolumes', [
      row('VolumeId.N', volumeId, 'DescribeVolumesRequest'),
      ...[...list('DescribeVolumes'), managed('DescribeVolumes')],
    ]),
    action('AttachVolume', [
      required('Device', text, 'AttachVolumeRequest'),
      device,
      required('InstanceId', instanceId, 'AttachVolumeRequest'),
      required('VolumeId', volumeId, 'AttachVolumeRequest'),
      row('EbsCardIndex', whole, 'AttachVolumeRequest'),
    ]),
    action('DetachVolume', [
      row('Device', text, 'DetachVolumeRequest'),
      row('Force', truth, 'DetachVolumeRequest'),
      row('InstanceId', instanceId, 'DetachVolumeRequest'),
      required('VolumeId', volumeId, 'DetachVolumeRequest'),
    ]),
    action('ModifyVolume', [
      required('VolumeId', volumeId, 'ModifyVolumeRequest'),
      row('Size', { type: 'whole', min: 1, max: 65_536 }, 'ModifyVolumeRequest'),
      row('VolumeType', volumeType, 'ModifyVolumeRequest'),
      row('Iops', whole, 'ModifyVolumeRequest'),
      row('Throughput', whole, 'ModifyVolumeRequest'),
      row('MultiAttachEnabled', truth, 'ModifyVolumeRequest'),
    ]),
    action('DescribeVolumesModifications', [
      row('VolumeId.N', volumeId, 'DescribeVolumesModificationsRequest'),
      ...list('DescribeVolumesModifications'),
      managed('DescribeVolumesModifications'),
    ]),
    action('CreateSnapshot', [
      row('Description', { type: 'text' }, 'CreateSnapshotRequest'),
      row('OutpostArn', text, 'CreateSnapshotRequest'),
      required('VolumeId', volumeId, 'CreateSnapshotRequest'),
      ...tagSpecifications('CreateSnapshot', 'snapshot'),
      row('Location', { type: 'text', oneOf: ['regional', 'local'] }, 'CreateSnapshotRequest'),
    ]),
    action('DeleteSnapshot', [required('SnapshotId', snapshotId, 'DeleteSnapshotRequest')]),
    action('DescribeSnapshots', [
      row('SnapshotId.N', snapshotId, 'DescribeSnapshotsRequest'),
      row(
        'Owner.N',
        { type: 'text', pattern: /^(?:self|amazon|\d{12})$/ },
        'DescribeSnapshotsRequest',
      ),
      row('RestorableBy.N', text, 'DescribeSnapshotsRequest'),
      ...list('DescribeSnapshots'),
    ]),
    action(
      'DescribeInstances',
      [
        row('InstanceId.N', instanceId, 'DescribeInstancesRequest'),
        ...[...list('DescribeInstances', { max: 1_000 }), managed('DescribeInstances')],
      ],
      [notWithIds('InstanceId')],
    ),
    action('CreateTags', [
      required('ResourceId.N', { type: 'text', pattern: /^(?:vol|snap)-/ }, 'CreateTagsRequest'),
      ...tags('Tag.N', 'CreateTagsRequest'),
    ]),
    action('DescribeTags', list('DescribeTags', { max: 1_000 })),
    action('DescribeAvailabilityZones', [
      row('ZoneName.N', text, 'DescribeAvailabilityZonesRequest'),
      row('ZoneId.N', text, 'DescribeAvailabilityZonesRequest'),
      row('AllAvailabilityZones', truth, 'DescribeAvailabilityZonesRequest'),
      ...list('DescribeAvailabilityZones').slice(0, 2),
    ]),
    action('DescribeInstanceTypes', [
      row('InstanceType.N', text, 'DescribeInstanceTypesRequest'),
      row('MaxResults', { type: 'whole', min: 5, max: 100 }, 'DITMaxResults'),
      ...list('DescribeInstanceTypes'),
      row('IncludeUnsupportedInRegion', truth, 'DescribeInstanceTypesRequest'),
    ]),
    action('DescribeVolumeStatus', [
      row('VolumeId.N', volumeId, 'DescribeVolumeStatusRequest'),
      ...[...list('DescribeVolumeStatus'), managed('DescribeVolumeStatus')],
    ]),
  ],
};
