import { expect } from 'chai';
import { checkOf } from './index.js';

const root = '/compute/v1/projects/proj-1';
const zone = `${root}/zones/europe-west1-b`;
const id = 'b1b2b3b4-0000-5000-8000-000000000001';
const type = 'projects/proj-1/zones/europe-west1-b/diskTypes/pd-balanced';
const source = 'projects/proj-1/zones/europe-west1-b/disks/kedge-a';
const usual = { authorization: 'Bearer secret', 'content-type': 'application/json' };

function objections(call: string, body?: unknown, headers: object = usual): string {
  const [method = '', target = ''] = call.split(' ');
  const url = new URL(target, 'http://host');
  const text = body === undefined ? '' : JSON.stringify(body);
  const request = { method, path: url.pathname, query: [...url.searchParams], body: text };
  return checkOf('cloud4')({ ...request, headers: { ...headers } }).join('\n');
}

const disk = { name: 'kedge-a', sizeGb: '10', type };
const attach = { source, deviceName: 'kedge-a', mode: 'READ_WRITE', type: 'PERSISTENT' };

describe('the schema of cloud4', () => {
  // Requests as the provider's client sends them: with empty maps that are output only, and an empty text as a body.
  for (const [what, call, body] of [
    [
      'a disk',
      `POST ${zone}/disks?requestId=${id}`,
      { ...disk, labels: {}, asyncSecondaryDisks: {} },
    ],
    ['a read', `GET ${zone}/disks/kedge-a`, undefined],
    ['a deletion', `DELETE ${zone}/disks/kedge-a?requestId=${id}`, undefined],
    ['a resize', `POST ${zone}/disks/kedge-a/resize?requestId=${id}`, { sizeGb: '20' }],
    ['an attachment', `POST ${zone}/instances/node-1/attachDisk?requestId=${id}`, attach],
    ['a detachment', `POST ${zone}/instances/n/detachDisk?deviceName=kedge-a&requestId=${id}`, ''],
    [
      'a snapshot',
      `POST ${root}/global/snapshots?requestId=${id}`,
      { name: 's', sourceDisk: source },
    ],
    ['a wait', `POST ${zone}/operations/operation-1/wait`, ''],
    ['a list', `GET ${zone}/disks?filter=labels.a%3Db&maxResults=500`, undefined],
  ] as const)
    it(`accepts ${what}`, () => expect(objections(call, body)).to.equal(''));

  for (const [what, call, body, objection] of [
    ['another version', 'GET /compute/beta/projects/p/zones', undefined, 'no such call'],
    ['a region', `GET ${root}/regions/europe-west1/disks/a`, undefined, 'no such call'],
    ['a name in upper case', `GET ${zone}/disks/A`, undefined, 'path disk "A" does not match'],
    [
      'a size that is a number',
      `POST ${zone}/disks`,
      { ...disk, sizeGb: 10 },
      'sizeGb 10 is no text',
    ],
    ['no size', `POST ${zone}/disks`, { name: 'a', type }, 'body sizeGb is missing'],
    [
      'a type that is a name',
      `POST ${zone}/disks`,
      { ...disk, type: 'pd-ssd' },
      'type "pd-ssd" does not',
    ],
    [
      'a label in upper case',
      `POST ${zone}/disks`,
      { ...disk, labels: { a: 'B' } },
      'has the value "B" for a',
    ],
    [
      'a field that is output only',
      `POST ${zone}/disks`,
      { ...disk, status: 'READY' },
      'status is not',
    ],
    [
      'content of a map that is output only',
      `POST ${zone}/disks`,
      { ...disk, asyncSecondaryDisks: { a: 'b' } },
      'asyncSecondaryDisks {"a":"b"} has the value',
    ],
    [
      'an id that is no UUID',
      `DELETE ${zone}/disks/a?requestId=1`,
      undefined,
      'requestId "1" does not',
    ],
    [
      'the UUID of zeros',
      `DELETE ${zone}/disks/a?requestId=00000000-0000-0000-0000-000000000000`,
      undefined,
      'does not match',
    ],
    [
      'a forced attachment',
      `POST ${zone}/instances/n/attachDisk?forceAttach=true`,
      attach,
      'query forceAttach is not defined',
    ],
    [
      'no device name',
      `POST ${zone}/instances/n/attachDisk`,
      { source },
      'body deviceName is missing',
    ],
    [
      'a detachment without a device name',
      `POST ${zone}/instances/n/detachDisk`,
      '',
      'deviceName is missing',
    ],
    ['a body of a wait', `POST ${zone}/operations/o/wait`, {}, 'the call has no body'],
    ['a page of 501', `GET ${zone}/disks?maxResults=501`, undefined, 'is more than 500'],
  ] as const)
    it(`objects to ${what}`, () => expect(objections(call, body)).to.contain(objection));

  it('does not show the token', () => {
    const found = objections(`GET ${zone}/disks/a`, undefined, { authorization: 'Basic c2VjcmV0' });
    expect(found).to.contain('has the wrong form').and.not.to.contain('c2VjcmV0');
  });
});
