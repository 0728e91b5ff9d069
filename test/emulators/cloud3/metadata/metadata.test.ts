import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import type { Token } from '../../core/machine.js';
import { type RunningEmulator, startEmulator } from '../../index.js';
import { askCloud3 } from '../client.js';
import { type RunningMetadata, serveMetadata } from './serve.js';

const roleKey: Token = {
  ...{ name: 'role', keyId: 'ASIAROLE', secret: 'role-secret', sessionToken: 'role-session' },
  expiresAt: Date.UTC(2100, 0, 1),
};

describe('the instance metadata of cloud3', () => {
  let running: RunningEmulator;
  let served: RunningMetadata;
  let role: Token | undefined;
  const clock = new FakeClock();
  const id = 'i-0123456789abcdef0';

  before(async () => {
    const instances = [{ name: id, place: 'eu-central-1b' }];
    running = await startEmulator({ provider: 'cloud3', clock, instances, tokens: [roleKey] });
    served = await serveMetadata({ running, node: id, role: () => role, clock });
  });
  beforeEach(() => {
    role = roleKey;
  });
  after(async () => {
    await served.close();
    await running.close();
  });

  const get = async (path: string, token?: string) => {
    const headers = token === undefined ? {} : { 'x-aws-ec2-metadata-token': token };
    const answer = await fetch(`${served.endpoint}/latest/${path}`, { headers });
    return answer.ok ? answer.text() : answer.status;
  };
  const session = async (ttl = '60', more: Readonly<Record<string, string>> = {}) => {
    const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': ttl, ...more };
    const answer = await fetch(`${served.endpoint}/latest/api/token`, { method: 'PUT', headers });
    return answer.ok ? answer.text() : answer.status;
  };

  it('is read only with a valid session token', async () => {
    expect(await get('meta-data/instance-id')).to.equal(401);
    expect(await get('meta-data/instance-id', 'x')).to.equal(401);
    const token = String(await session());
    expect(await get('meta-data/instance-id', token)).to.equal(id);
    expect(await get('meta-data/placement/availability-zone', token)).to.equal('eu-central-1b');
    expect(await get('meta-data/placement/region', token)).to.equal('eu-central-1');
    const document: unknown = JSON.parse(
      String(await get('dynamic/instance-identity/document', token)),
    );
    expect(document).to.include({ instanceId: id, region: 'eu-central-1' });
    expect(await get('meta-data/colour', token)).to.equal(404);
    await clock.advance(60_000);
    expect(await get('meta-data/instance-id', token)).to.equal(401);
  });

  it('gives no session token for too long, for a time that is not a number, or through a proxy', async () => {
    expect(await session('21601')).to.equal(400);
    expect(await session('x')).to.equal(400);
    expect(await session('60', { 'x-forwarded-for': '10.0.0.1' })).to.equal(403);
  });

  it('has the key of the role, which signs requests to the provider', async () => {
    const token = String(await session());
    const list = 'meta-data/iam/security-credentials';
    expect(await get(`${list}/`, token)).to.equal(`${id}-role`);
    const text = String(await get(`${list}/${id}-role`, token));
    const {
      AccessKeyId,
      SecretAccessKey,
      Token: sessionToken,
    } = JSON.parse(text) as {
      readonly [name: string]: string;
    };
    const key = {
      name: 'role',
      keyId: AccessKeyId!,
      secret: SecretAccessKey!,
      sessionToken: sessionToken!,
    };
    const { status } = await askCloud3(running.emulator, { action: 'DescribeVolumes', key });
    expect(status).to.equal(200);
    role = undefined;
    expect(await get(`${list}/`, token)).to.equal(404);
  });

  it('does not answer while it is silent', async () => {
    served.metadata.silent = true;
    const signal = AbortSignal.timeout(50);
    const answer = await fetch(`${served.endpoint}/latest/api/token`, {
      method: 'PUT',
      signal,
    }).then(
      () => 'answered',
      (error: unknown) => (error as Error).name,
    );
    served.metadata.silent = false;
    expect(answer).to.equal('TimeoutError');
  });
});
