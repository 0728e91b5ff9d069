import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import type { Driver } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { CalledDriver, refusalOf } from './called-driver.js';
import { Cloud2Double } from './cloud2-double.js';

const token = 'hcloud-of-the-driver-test';
const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';

describe('cloud2-volume', () => {
  let folder: string;
  let cloud: Cloud2Double;
  let driver: Driver;
  const created = async (node?: string): Promise<Driver> =>
    (await builtinDrivers({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
      ...(node === undefined ? {} : { node }),
      clusterId: 'cluster-1',
      drivers: {
        'cloud2-volume': {
          endpoint: cloud.endpoint,
          deviceDirectory: join(folder, 'links'),
          timeouts: { requestMs: 500, deviceMs: 1_000 },
        },
      },
    }).get('cloud2-volume'))!;
  const volume = (of = uid, parameters = {}): CalledDriver =>
    new CalledDriver(driver, { location: 'fsn1', apiToken: token, ...parameters }, of);
  const requests = (): readonly string[] =>
    cloud.received.map(({ method, path }) => `${method} ${path.replaceAll(/\d{4,}/g, 'ID')}`);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud2-'));
    cloud = new Cloud2Double(folder);
    cloud.devices = false;
    cloud.actionMs = 0;
    cloud.tokens.set(token, 'write');
    cloud.servers
      .set('worker', { id: 21, location: 'fsn1' })
      .set('other', { id: 22, location: 'fsn1' })
      .set('far', { id: 23, location: 'nbg1' });
    await cloud.listen();
    driver = await created();
  });
  afterEach(async () => {
    await cloud.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('provisions at least 10 GiB with four requests, without format and automount', async () => {
    const { sizeBytes } = await volume().provision();
    expect(sizeBytes).to.equal(10n * 1024n ** 3n);
    expect(requests()).to.deep.equal([
      'GET /v1/volumes',
      'POST /v1/volumes',
      'GET /v1/actions/ID',
      'GET /v1/volumes',
    ]);
    expect(cloud.received[1]?.body).to.deep.equal({
      name: `kedge-${uid}`,
      size: 10,
      location: 'fsn1',
      labels: { 'svc.io/volume-id': uid, 'svc.io/cluster-id': 'cluster-1' },
    });
  });

  it('region is an alias of location, and both with different values are refused with both', async () => {
    const judged = driver.validateParameters(
      { location: 'fsn1', region: 'nbg1' },
      { level: 'class' },
    );
    expect(judged.map(({ description }) => description).join()).to.contain('"fsn1" and "nbg1"');
    const at = (location: string, region: string, level: 'volume' | 'resolved') =>
      driver.validateParameters({ location, region }, { level }).map((one) => one.description);
    expect(at('a', 'a', 'volume')).to.deep.equal([]);
    expect(at('fsn1', 'secret:place/region', 'volume'), 'not known yet').to.deep.equal([]);
    expect(at('fsn1', 'hidden', 'resolved')).to.deep.equal([
      'location and its alias region are different; give one of them',
    ]);
    await new CalledDriver(driver, { region: 'hel1', apiToken: token }, uid).provision();
    expect([...cloud.volumes.values()][0]?.location).to.equal('hel1');
  });

  it('a creation whose answer was lost is found, and not made again', async () => {
    const one = volume();
    cloud.play('POST', /volumes$/, {}, { after: true });
    expect((await refusalOf(one.provision())).kind).to.equal('Timeout');
    await one.provision();
    expect(cloud.volumes.size).to.equal(1);
  });

  it('a creation that failed late is deleted, and made again under its name', async () => {
    const one = volume();
    cloud.outcome = 'error';
    const { kind, message } = await refusalOf(one.provision());
    expect(kind).to.equal('Unavailable');
    expect(message).to.contain('Action failed (action_failed)');
    expect(cloud.volumes.size).to.equal(0);
    cloud.outcome = 'success';
    await one.provision();
    expect(cloud.volumes.size).to.equal(1);
  });

  it('a volume of another location is not taken for the one that is wanted', async () => {
    await volume().provision();
    const { kind, message } = await refusalOf(volume(uid, { location: 'nbg1' }).provision());
    expect(kind).to.equal('InvalidParameters');
    expect(message).to.contain('is in fsn1, not in nbg1');
  });

  it('does not attach to a server of another location, and says both', async () => {
    const one = volume();
    await one.provision();
    const { kind, message } = await refusalOf(one.attach('far'));
    expect(kind).to.equal('InvalidParameters');
    expect(message).to.contain('in location fsn1, and server 23 (node "far") in nbg1');
  });

  it('attaches to one server, and detaches from that one alone', async () => {
    const one = volume();
    await one.provision();
    await one.attach();
    expect((await refusalOf(one.attach('other'))).message).to.contain('attached to server 21');
    await one.detach('other');
    expect(cloud.volumes.get(Number(one.handle))?.server).to.equal(21);
    await one.detach();
    expect(cloud.volumes.get(Number(one.handle))?.server).to.equal(null);
    const detach = cloud.received.find(({ path }) => path.endsWith('/detach'));
    expect(detach?.body).to.deep.equal({});
  });

  it('believes an attach when the device is there, else detaches once and starts over', async () => {
    driver = await created('worker');
    const one = volume();
    await one.provision();
    const { kind, message } = await refusalOf(one.attach());
    expect(kind).to.equal('Unavailable');
    expect(message).to.contain('did not appear within 1000 ms; it is detached and attached again');
    const actions = requests().filter(
      (line) => line.includes('/actions/') && line.startsWith('POST'),
    );
    expect(actions).to.deep.equal([
      'POST /v1/volumes/ID/actions/attach',
      'POST /v1/volumes/ID/actions/detach',
    ]);
  });

  it('grows a detached volume alone, and asks for no size that it has', async () => {
    const one = volume();
    await one.provision();
    await one.expand(5n);
    await one.attach();
    expect((await refusalOf(one.expand(12n))).kind).to.equal('InUse');
    await one.detach();
    await one.expand(12n);
    expect(cloud.volumes.get(Number(one.handle))?.size).to.equal(12);
    expect(requests().filter((line) => line.endsWith('/resize'))).to.have.length(1);
  });

  it('says that a volume is protected, and what to do', async () => {
    const one = volume();
    await one.provision();
    cloud.volumes.get(Number(one.handle))!.protected = true;
    const { kind, message } = await refusalOf(one.delete());
    expect(kind).to.equal('PermissionDenied');
    expect(message).to.contain(`hcloud volume disable-protection ${one.handle} delete`);
  });

  it("passes the provider's words on, also of rejected credentials (5.3)", async () => {
    cloud.tokens.set(token, 'read');
    const { kind, message } = await refusalOf(volume().provision());
    expect(kind).to.equal('CredentialsRejected');
    expect(message).to.equal(
      'Hetzner Cloud refused createVolume: the token is only allowed to perform GET requests (HTTP 403, token_readonly); use an API token with the permission Read & Write',
    );
  });

  it('an action that vanished is told from the volume', async () => {
    cloud.actionMs = 200;
    const one = volume();
    await one.provision();
    cloud.play('GET', /actions/, {
      status: 404,
      body: { error: { code: 'not_found', message: '' } },
    });
    await one.attach();
    expect(cloud.volumes.get(Number(one.handle))?.server).to.equal(21);
  });

  it('makes no snapshots, and lists the volumes of this installation by their label', async () => {
    expect(driver.capabilities()).to.include({
      snapshots: false,
      onlineExpand: false,
      attachLimit: 16,
    });
    for (const n of [1, 2, 3]) await volume(`uid-${n}`).provision();
    const { signal } = new AbortController();
    const request = { parameters: { location: 'fsn1', apiToken: token }, node: 'worker', signal };
    const { resources } = await driver.orphans!(request);
    expect(resources.map(({ uid: of }) => of)).to.deep.equal(['uid-1', 'uid-2', 'uid-3']);
    expect((await driver.check!(request)).map(({ state }) => state)).to.deep.equal([
      'ok',
      'unknown',
    ]);
  });

  it('the token is in no error and in no journal', async () => {
    const one = volume();
    const body = { error: { code: 'invalid_input', message: `bad ${token}` } };
    cloud.play('GET', /volumes$/, { status: 422, body });
    const error = await refusalOf(one.provision());
    await one.provision();
    await one.attach();
    const told = inspect([error, driver.recentCalls!(uid), driver], { depth: 9, showHidden: true });
    expect(driver.recentCalls!(uid)).to.have.length.greaterThan(4);
    expect(told).not.to.contain(token);
  });
});
