import { expect } from 'chai';
import { checkOf } from './index.js';

const signature = 'f'.repeat(64);
const headers = {
  authorization: `AWS4-HMAC-SHA256 Credential=AKID/20261126/eu-central-1/ec2/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=${signature}`,
  'x-amz-date': '20261126T030000Z',
  'content-type': 'application/x-www-form-urlencoded',
};
const volume = 'vol-0123456789abcdef0';
const instance = 'i-0123456789abcdef0';

function objections(
  action: string,
  fields: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = headers,
): string {
  const body = new URLSearchParams({ Action: action, Version: '2016-11-15', ...fields }).toString();
  const request = { method: 'POST', path: '/', query: [], headers: more, body };
  return checkOf('cloud3')(request).join('\n');
}

const create = {
  ...{ AvailabilityZone: 'eu-central-1a', Size: '8', VolumeType: 'gp3', Encrypted: 'true' },
  ...{ ClientToken: 'a'.repeat(64), 'TagSpecification.1.ResourceType': 'volume' },
  'TagSpecification.1.Tag.1.Key': 'svc.io/volume-id',
  'TagSpecification.1.Tag.1.Value': 'u',
};

describe('the request schema of cloud3', () => {
  for (const [action, fields] of [
    ['CreateVolume', create],
    ['CreateVolume', { ...create, VolumeType: 'io2', Iops: '100' }],
    ['DescribeVolumes', { 'VolumeId.1': volume, 'VolumeId.2': volume }],
    ['DescribeVolumes', { 'Filter.1.Name': 'tag:svc.io/volume-id', 'Filter.1.Value.1': 'u' }],
    ['AttachVolume', { VolumeId: volume, InstanceId: instance, Device: '/dev/xvdaa' }],
    ['DetachVolume', { VolumeId: volume }],
    ['DescribeInstances', { 'Filter.1.Name': 'private-dns-name', 'Filter.1.Value.1': 'n.*' }],
    ['ModifyVolume', { VolumeId: volume, Size: '9', DryRun: 'true' }],
    ['DescribeSnapshots', { 'Owner.1': 'self', MaxResults: '5' }],
  ] as const)
    it(`accepts ${action} with ${Object.keys(fields).join(', ')}`, () => {
      expect(objections(action, fields)).to.equal('');
    });

  for (const [what, action, fields, objection] of [
    ['an unknown action', 'RunInstances', {}, 'no action RunInstances'],
    ['an unknown field', 'DeleteVolume', { VolumeId: volume, Name: 'a' }, 'Name is not defined'],
    ['another version', 'DeleteVolume', { VolumeId: volume, Version: '2014-10-01' }, 'is none of'],
    ['a missing field', 'AttachVolume', { VolumeId: volume }, 'field InstanceId is missing'],
    ['an id of another kind', 'DeleteVolume', { VolumeId: instance }, 'does not match'],
    ['no volume at all', 'CreateTags', { 'Tag.1.Key': 'a' }, 'field ResourceId.N is missing'],
    ['a list from 0', 'DescribeVolumes', { 'VolumeId.0': volume }, 'numbered from 1'],
    ['a list with a gap', 'DescribeVolumes', { 'VolumeId.2': volume }, 'numbered from 1'],
    ['a list of one text', 'DescribeVolumes', { VolumeId: volume }, 'VolumeId is not defined'],
    ['an unknown filter', 'DescribeVolumes', { 'Filter.1.Name': 'name' }, 'does not match'],
    ['a size that is no number', 'CreateVolume', { ...create, Size: '8Gi' }, 'no whole number'],
    ['a size of another type', 'CreateVolume', { ...create, VolumeType: 'st1' }, '125 to 16384'],
    ['IOPS of gp2', 'CreateVolume', { ...create, VolumeType: 'gp2', Iops: '100' }, 'not for vol'],
    ['too few IOPS of gp3', 'CreateVolume', { ...create, Iops: '100' }, '3000 to 80000'],
    ['no IOPS of io2', 'CreateVolume', { ...create, VolumeType: 'io2' }, 'Iops is missing'],
    [
      'a key without encryption',
      'CreateVolume',
      { ...create, Encrypted: 'false', KmsKeyId: 'k' },
      'KmsKeyId',
    ],
    [
      'a tag of the provider',
      'CreateVolume',
      { ...create, 'TagSpecification.1.Tag.1.Key': 'aws:a' },
      'does not match',
    ],
    ['a long token', 'CreateVolume', { ...create, ClientToken: 'a'.repeat(65) }, 'longer than 64'],
    [
      'tags of another kind',
      'CreateSnapshot',
      { VolumeId: volume, 'TagSpecification.1.ResourceType': 'volume' },
      'none of snapshot',
    ],
    [
      'a page together with ids',
      'DescribeInstances',
      { 'InstanceId.1': instance, MaxResults: '5' },
      'not allowed together',
    ],
    ['a page of 4', 'DescribeInstances', { MaxResults: '4' }, 'less than 5'],
    [
      'an invalid device name',
      'AttachVolume',
      { VolumeId: volume, InstanceId: instance, Device: 'xvda' },
      'does not match',
    ],
  ] as const)
    it(`objects to ${what}`, () => {
      expect(objections(action, fields)).to.contain(objection);
    });

  it('objects to a volume without a token, a size or a zone', () => {
    const { ClientToken: _, ...rest } = create;
    expect(objections('CreateVolume', rest)).to.contain('ClientToken is missing');
    const { Size: __, ...without } = create;
    expect(objections('CreateVolume', without)).to.contain('Size or SnapshotId is missing');
    expect(objections('CreateVolume', { ...create, AvailabilityZoneId: 'euc1-az2' })).to.contain(
      'and not both',
    );
  });

  it('objects to a signature of another service, without showing it', () => {
    const wrong = { ...headers, authorization: headers.authorization.replace('/ec2/', '/s3/') };
    const found = objections('DeleteVolume', { VolumeId: volume }, wrong);
    expect(found).to.contain('header authorization has the wrong form');
    expect(found).not.to.contain(signature);
    const { 'x-amz-date': _, ...undated } = headers;
    expect(objections('DeleteVolume', { VolumeId: volume }, undated)).to.contain('x-amz-date is');
  });

  it('objects to another path and to a field that is given twice', () => {
    const request = { method: 'POST', path: '/v1', query: [], headers, body: '' };
    expect(checkOf('cloud3')(request)).to.deep.equal(['the definition has no such call']);
    const body = `Action=DeleteVolume&Version=2016-11-15&VolumeId=${volume}&VolumeId=${volume}`;
    expect(checkOf('cloud3')({ ...request, path: '/', body }).join()).to.contain('several times');
  });
});
