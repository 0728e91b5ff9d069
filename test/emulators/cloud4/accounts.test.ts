import { createSign } from 'node:crypto';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { ask, type Answer } from '../core/client.js';
import type { Token } from '../core/machine.js';
import type { WireRequest } from '../core/wire.js';
import { Accounts, allowedBy, wholePlatform } from './accounts.js';
import { Cloud4 } from './machine.js';
import { MetadataServer } from './metadata.js';
import { makeServiceAccount } from './service-account.js';
import { createEmulator } from '../index.js';

const now = 1_700_000_000_000;
const seconds = now / 1000;
const { token: account, secret: privateKey } = makeServiceAccount('kedge');
const other = makeServiceAccount('other');
const claims = {
  ...{ iss: account.name, sub: account.name, scope: wholePlatform },
  ...{ iat: seconds, exp: seconds + 3_600 },
};

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function signed(body: object, { key = privateKey, alg = 'RS256' } = {}): string {
  const text = `${part({ alg, typ: 'JWT', kid: 'k' })}.${part(body)}`;
  const signature = createSign('RSA-SHA256').update(text).sign(key).toString('base64url');
  return `${text}.${signature}`;
}

function bearer(token: string): WireRequest {
  const headers = { authorization: `Bearer ${token}` };
  return { method: 'GET', path: '/', query: [], headers, body: '' };
}

describe('the accounts of cloud4', () => {
  const accounts = new Accounts();
  accounts.add(account);
  accounts.add(other.token);

  it('accept a self-signed token with a scope, or for their service', () => {
    const { scope, ...rest } = claims;
    const aud = 'https://compute.googleapis.com/';
    for (const body of [
      { ...rest, scope },
      { ...rest, aud },
    ])
      expect(accounts.callerOf(bearer(signed(body)), now)).to.include({ name: account.name });
  });

  for (const [what, token] of [
    ['that ended', signed({ ...claims, iat: seconds - 3_600, exp: seconds })],
    ['of the future', signed({ ...claims, iat: seconds + 301, exp: seconds + 3_000 })],
    ['for more than an hour', signed({ ...claims, exp: seconds + 3_601 })],
    ['of another key', signed(claims, { key: other.secret })],
    ['of an unknown account', signed({ ...claims, iss: 'x', sub: 'x' })],
    ['of another subject', signed({ ...claims, sub: other.token.name })],
    [
      'for another service',
      signed({ ...claims, scope: undefined, aud: 'https://x.googleapis.com/' }),
    ],
    ['of another algorithm', signed(claims, { alg: 'HS256' })],
    ['without a signature', signed(claims).replace(/[^.]+$/, '')],
    [
      'whose claims were changed',
      signed(claims).replace(/\.[^.]+\./, `.${part({ ...claims, exp: seconds + 3_599 })}.`),
    ],
    ['without claims', 'a.b.c'],
  ] as const)
    it(`refuse a token ${what}`, () => {
      expect(accounts.callerOf(bearer(token), now)).to.equal('badCredentials');
    });

  it('refuse a request without credentials, and removed accounts', () => {
    expect(accounts.callerOf({ ...bearer(''), headers: {} }, now)).to.equal('noCredentials');
    const few = new Accounts();
    few.add(account);
    const { token } = few.issue(account.name, [wholePlatform], now);
    few.remove(account.name);
    expect(few.callerOf(bearer(token), now)).to.equal('badCredentials');
    expect(few.callerOf(bearer(signed(claims)), now)).to.equal('badCredentials');
  });

  it('allow what an access scope includes', () => {
    const scope = (name: string): readonly string[] => [`https://www.googleapis.com/auth/${name}`];
    expect(allowedBy(scope('compute'), 'POST')).to.equal(true);
    expect(allowedBy(scope('compute.readonly'), 'GET')).to.equal(true);
    expect(allowedBy(scope('compute.readonly'), 'POST')).to.equal(false);
    expect(allowedBy(scope('devstorage.read_only'), 'GET')).to.equal(false);
  });
});

describe('the permissions of cloud4', () => {
  const path = '/compute/v1/projects/emulated-project/zones/europe-west3-a';
  const tokens: readonly Token[] = [
    { name: 'all', secret: 'test-token' },
    { name: 'few', secret: 'few', scopes: ['compute.disks.get', 'compute.disks.create'] },
  ];
  const instances = [{ name: 'n', place: 'europe-west3-a' }];
  const { emulator } = createEmulator({ provider: 'cloud4', tokens, instances });
  const few = (call: string, body?: unknown): Promise<Answer> =>
    ask(emulator, { call, body, token: 'few' });
  const lacks = (answer: Answer): string =>
    (answer.body['error'] as { message: string } | undefined)?.message ?? '';

  it('are named in the message of a refusal', async () => {
    for (const [call, body, permission, resource] of [
      [`GET ${path}/disks`, undefined, 'compute.disks.list', 'zones/europe-west3-a'],
      [`POST ${path}/disks/a/resize`, { sizeGb: '1' }, 'compute.disks.resize', 'disks/a'],
      [
        `POST ${path}/disks`,
        { name: 'a', labels: { a: 'b' } },
        'compute.disks.setLabels',
        'disks/a',
      ],
      [
        ...[`POST ${path}/disks`, { name: 'a', sourceSnapshot: 'global/snapshots/s' }],
        ...['compute.snapshots.useReadOnly', 'global/snapshots/s'],
      ],
      [`POST ${path}/instances/n/attachDisk`, {}, 'compute.instances.attachDisk', 'instances/n'],
      [`GET ${path}/operations/x`, undefined, 'compute.zoneOperations.get', 'operations/x'],
    ] as const) {
      const answer = await few(String(call), body);
      expect(answer.status, String(call)).to.equal(403);
      const whole = new RegExp(
        `^Required '${String(permission)}' permission for 'projects/.*${String(resource)}'$`,
      );
      expect(lacks(answer)).to.match(whole);
    }
  });

  it('of one resource can be tested, but only those of its kind', async () => {
    const body = { name: 'a', sizeGb: '1' };
    expect((await few(`POST ${path}/disks`, body)).status).to.equal(200);
    const test = (permissions: readonly string[]): Promise<Answer> =>
      few(`POST ${path}/disks/a/testIamPermissions`, { permissions });
    expect((await test(['compute.disks.get', 'compute.disks.use'])).body).to.deep.equal({
      permissions: ['compute.disks.get'],
    });
    expect((await test(['compute.disks.use'])).body).to.deep.equal({});
    expect((await test(['compute.instances.get'])).status).to.equal(400);
  });
});

describe('the metadata server of cloud4', () => {
  const clock = new FakeClock(now);
  const cloud = new Cloud4({
    instances: [{ name: 'node-1', place: 'europe-west3-a' }],
    ...{ tokens: [account], takesMs: () => 1, startedAt: 0, signatureClock: clock },
  });
  const server = new MetadataServer(cloud, { instance: 'node-1' }, clock);
  const get = async (path: string, headers: object = { 'metadata-flavor': 'Google' }) => {
    const [head = '', search = ''] = path.split('?');
    const query = [...new URLSearchParams(search)];
    const request = { method: 'GET', path: `/computeMetadata/v1${head}`, query, body: '' };
    const delivery = await server.exchange({ ...request, headers: { ...headers } });
    return delivery.type === 'reply' ? delivery.reply : undefined;
  };

  it('gives the project, the zone, the name and the account to requests with its header', async () => {
    for (const [path, body] of [
      ['/project/project-id', 'emulated-project'],
      ['/instance/zone', 'projects/123456789012/zones/europe-west3-a'],
      ['/instance/name', 'node-1'],
      ['/instance/service-accounts/default/email', account.name],
    ] as const) {
      const reply = await get(path);
      expect(reply).to.include({ status: 200, body });
      expect(reply?.headers).to.include({ 'metadata-flavor': 'Google' });
    }
    expect(await get('/project/project-id', {})).to.include({ status: 403 });
    expect(
      await get('/instance/name', { 'metadata-flavor': 'Google', 'x-forwarded-for': '10.0.0.1' }),
    ).to.include({ status: 403 });
    expect(await get('/instance/disks')).to.include({ status: 404 });
  });

  it('gives out tokens that the provider accepts for an hour', async () => {
    const path = '/compute/v1/projects/emulated-project/zones';
    const { body = '' } = (await get('/instance/service-accounts/default/token')) ?? {};
    const { access_token: token, expires_in: left } = JSON.parse(body) as Record<string, string>;
    expect(Number(left)).to.equal(3_599);
    const call = () => cloud.handle({ ...bearer(String(token)), path }, now, {}).reply.status;
    expect(call()).to.equal(200);
    await clock.advance(3_600_000);
    expect(call()).to.equal(401);
  });

  it('gives out tokens with no more scopes than the instance has', async () => {
    const scopes = ['https://www.googleapis.com/auth/compute.readonly'];
    const bounded = new MetadataServer(cloud, { instance: 'node-1', scopes }, clock);
    const path = '/computeMetadata/v1/instance/service-accounts/default/token';
    const delivery = await bounded.exchange({
      ...{ method: 'GET', path, query: [['scopes', wholePlatform]], body: '' },
      headers: { 'metadata-flavor': 'Google' },
    });
    const body = delivery.type === 'reply' ? delivery.reply.body : '';
    const { access_token: token } = JSON.parse(body) as Record<string, string>;
    const request = {
      ...bearer(String(token)),
      path: '/compute/v1/projects/emulated-project/zones',
    };
    expect(cloud.handle(request, now, {}).reply.status).to.equal(200);
    const { reply } = cloud.handle({ ...request, method: 'POST' }, now, {});
    expect(reply).to.include({ status: 403 });
    expect(reply.body).to.contain('insufficientPermissions');
  });

  it('does not answer if a fault orders it', async () => {
    server.faults.add({ on: () => true, fault: { type: 'timeout' } });
    expect(await get('/instance/name')).to.equal(undefined);
  });
});
