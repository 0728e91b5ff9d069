import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Driver } from '@kedge/driver-sdk';
import { ask } from '../core/client.js';
import type { Fault } from '../core/faults.js';
import { type CloudChoice, EmulatedCloud, here, testToken } from '../sweep/emulated-cloud.js';
import { CalledDriver, refusalOf } from './called-driver.js';

const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';
const servers = [
  { name: here, place: 'fsn1' },
  { name: 'worker-2', place: 'fsn1' },
  { name: 'far', place: 'nbg1' },
];

describe('cloud2-volume', () => {
  let folder: string;
  let cloud: EmulatedCloud;
  let driver: Driver;
  const started = async (choice: CloudChoice = {}): Promise<void> => {
    const disks = await mkdtemp(join(folder, 'disks-'));
    cloud = new EmulatedCloud('cloud2', disks, { actionMs: 0, instances: servers, ...choice });
    driver = await cloud.driver();
  };
  const volume = (of = uid, parameters = {}): CalledDriver =>
    new CalledDriver(cloud, driver, of, { location: 'fsn1', apiToken: testToken, ...parameters });
  const requests = (): readonly string[] =>
    cloud.emulator.requests.map(
      ({ method, path }) => `${method} ${path.replaceAll(/\/\d+/g, '/ID')}`,
    );
  const bodies = (): readonly unknown[] =>
    cloud.emulator.requests.flatMap(({ body }) =>
      body === '' ? [] : [JSON.parse(body) as unknown],
    );
  const fail = (on: string, fault: Fault): void => cloud.emulator.faults.add({ on, fault });
  const existing = async (kind: string): Promise<readonly string[]> =>
    (await cloud.emulator.inventory()).filter((one) => one.startsWith(`${kind} `));

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud2-'));
  });
  beforeEach(() => started());
  afterEach(async () => {
    expect(cloud.emulator.violations).to.deep.equal([]);
    await cloud.emulator.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('provisions at least 10 GiB with four requests, without format and automount', async () => {
    const { sizeBytes } = await volume().provision();
    expect(sizeBytes).to.equal(10n * 1024n ** 3n);
    expect(requests()).to.deep.equal([
      'GET /v1/volumes',
      'POST /v1/volumes',
      'GET /v1/actions/ID',
      'GET /v1/volumes',
    ]);
    expect(bodies()).to.deep.equal([
      {
        name: `kedge-${uid}`,
        size: 10,
        location: 'fsn1',
        labels: { 'svc.io/volume-id': uid, 'svc.io/cluster-id': 'cluster-1' },
      },
    ]);
  });

  it('region is an alias of location, and both with different values are refused with both', async () => {
    const found = driver.validateParameters(
      { location: 'fsn1', region: 'nbg1' },
      { level: 'class' },
    );
    expect(found.map(({ description }) => description).join()).to.contain('"fsn1" and "nbg1"');
    const at = (location: string, region: string, level: 'volume' | 'resolved') =>
      driver.validateParameters({ location, region }, { level }).map((one) => one.description);
    expect(at('a', 'a', 'volume')).to.deep.equal([]);
    expect(at('fsn1', 'secret:place/region', 'volume'), 'not known yet').to.deep.equal([]);
    expect(at('fsn1', 'hidden', 'resolved')).to.deep.equal([
      'location and its alias region are different; give one of them',
    ]);
    await new CalledDriver(cloud, driver, uid, {
      region: 'hel1',
      apiToken: testToken,
    }).provision();
    expect(bodies()[0]).to.include({ location: 'hel1' });
  });

  it('a creation whose answer was lost is found, and not made again', async () => {
    const one = volume();
    fail('POST /v1/volumes', { type: 'lostReply' });
    expect((await refusalOf(one.provision())).kind).to.equal('Timeout');
    await one.provision();
    expect(await existing('volume')).to.have.length(1);
  });

  it('a creation that failed late is deleted, and made again under its name', async () => {
    const one = volume();
    const failure = { code: 'action_failed', message: 'Action failed' };
    fail('POST /v1/volumes', { type: 'actionFails', ...failure });
    const { kind, message } = await refusalOf(one.provision());
    expect(kind).to.equal('Unavailable');
    expect(message).to.contain('Action failed (action_failed)');
    expect(await existing('volume')).to.deep.equal([]);
    await one.provision();
    expect(await existing('volume')).to.have.length(1);
  });

  it('a volume of another location is not taken for the one that is wanted', async () => {
    await volume().provision();
    const { kind, message } = await refusalOf(volume(uid, { location: 'nbg1' }).provision());
    expect(kind).to.equal('InvalidParameters');
    expect(message).to.contain('is in fsn1, not in nbg1');
  });

  it('does not attach to a server of another location, and names both locations', async () => {
    const one = volume();
    await one.provision();
    const { kind, message } = await refusalOf(one.attach('far'));
    expect(kind).to.equal('InvalidParameters');
    expect(message).to.contain('in location fsn1, and server 44 (node "far") in nbg1');
  });

  it('attaches to one server, and detaches from that one alone', async () => {
    const one = volume();
    await one.provision();
    await one.attach();
    expect((await refusalOf(one.attach('worker-2'))).message).to.contain('attached to server 42');
    await one.detach('worker-2');
    expect(await existing('attached')).to.deep.equal([`attached ${one.handle} to ${here}`]);
    await one.detach();
    expect(await existing('attached')).to.deep.equal([]);
    const detach = cloud.emulator.requests.find(({ path }) => path.endsWith('/detach'));
    expect(detach?.body).to.equal('');
  });

  it('believes an attach when the device is there, else detaches once and starts over', async () => {
    const one = volume();
    await one.provision();
    cloud.disks.areSeen = false;
    const { kind, message } = await refusalOf(one.attach());
    expect(kind).to.equal('Unavailable');
    expect(message).to.contain('did not appear within 30000 ms; it is detached and attached again');
    const actions = requests().filter(
      (line) => line.includes('/actions/') && line.startsWith('POST'),
    );
    expect(actions).to.deep.equal([
      'POST /v1/volumes/ID/actions/attach',
      'POST /v1/volumes/ID/actions/detach',
    ]);
    cloud.disks.areSeen = true;
    await one.attach();
    expect(await existing('attached')).to.have.length(1);
  });

  it('detaches no volume that the node has mounted, although its link is lost', async () => {
    const one = volume();
    await one.provision();
    await one.attach();
    cloud.disks.areSeen = false;
    cloud.mounted = ['/data/mounts/v'];
    const again = () => one.attach(here, one.parameters, { target: '/data/mounts/v' });
    for (const attempt of ['first', 'second']) {
      const { kind, message } = await refusalOf(again());
      expect(kind, attempt).to.equal('Unavailable');
      expect(message).to.contain('which is mounted on this node, so that it stays attached');
    }
    expect(requests().filter((line) => line.endsWith('/detach'))).to.deep.equal([]);
    cloud.disks.areSeen = true;
    await again();
    expect(await existing('attached')).to.have.length(1);
  });

  it('grows only a detached volume, and requests no size that it has', async () => {
    const one = volume();
    await one.provision();
    await one.expand(5n);
    await one.attach();
    expect((await refusalOf(one.expand(12n))).kind).to.equal('InUse');
    await one.detach();
    await one.expand(12n);
    expect(cloud.disks.sizeOf(one.handle)).to.equal(12 * 2 ** 30);
    expect(requests().filter((line) => line.endsWith('/resize'))).to.have.length(1);
  });

  it('reports that a volume is protected, and what to do', async () => {
    const one = volume();
    await one.provision();
    const call = `POST /v1/volumes/${one.handle}/actions/change_protection`;
    await ask(cloud.emulator, { call, body: { delete: true }, token: testToken });
    const { kind, message } = await refusalOf(one.delete());
    expect(kind).to.equal('PermissionDenied');
    expect(message).to.contain(`hcloud volume disable-protection ${one.handle} delete`);
  });

  it("passes the provider's words on, also of rejected credentials (5.3)", async () => {
    cloud.emulator.addToken({ name: 'sweep', secret: testToken, scopes: ['read'] });
    const { kind, message, requestId } = await refusalOf(volume().provision());
    expect(kind).to.equal('CredentialsRejected');
    expect(message).to.equal(
      `Hetzner Cloud refused createVolume: the token is only allowed to perform GET requests (HTTP 403, token_readonly, request ${requestId}); use an API token with the permission Read & Write`,
    );
  });

  it('waits a minute after 429, not until the whole limit is back', async () => {
    fail('GET /v1/volumes', { type: 'rateLimited' });
    const request = { ...volume().request(), sizeBytes: 1n, topology: {} };
    const provision = { ...request, accessMode: 'ReadWriteOnce' } as const;
    expect(await driver.provision(provision)).to.include({
      type: 'pending',
      pollAfterMs: 60_000,
    });
  });

  it('the result of an action without a record is read from the volume', async () => {
    await started({ actionMs: 200 });
    const one = volume();
    await one.provision();
    const body = JSON.stringify({ error: { code: 'not_found', message: '' } });
    fail('GET /v1/actions/*', { type: 'answer', status: 404, body });
    await one.attach();
    expect(await existing('attached')).to.have.length(1);
    expect(cloud.emulator.faults.left).to.equal(0);
  });

  it('makes no snapshots, and lists the volumes of this cluster by their label', async () => {
    expect(driver.capabilities()).to.include({
      snapshots: false,
      onlineExpand: false,
      attachLimit: 16,
    });
    for (const n of [1, 2, 3]) await volume(`uid-${n}`).provision();
    const foreign = { name: 'mine', size: 10, location: 'fsn1' };
    await ask(cloud.emulator, { call: 'POST /v1/volumes', body: foreign, token: testToken });
    const { signal } = new AbortController();
    const request = { parameters: { location: 'fsn1', apiToken: testToken }, node: here, signal };
    const { resources } = await driver.orphans!(request);
    expect(resources.map(({ uid: of }) => of)).to.deep.equal(['uid-1', 'uid-2', 'uid-3']);
    const rows = ['Read', 'Read & Write'];
    const checked = await driver.check!(request);
    expect(
      checked.filter(({ permission }) => rows.includes(permission)).map(({ state }) => state),
    ).to.deep.equal(['ok', 'unknown']);
  });

  it('has no record of a deletion by name once the volume is absent, also after a lost answer', async () => {
    for (const answer of ['given', 'lost'] as const) {
      const one = volume();
      await one.provision();
      if (answer === 'lost') {
        fail('DELETE /v1/volumes/*', { type: 'lostReply' });
        await refusalOf(one.driver.delete({ ...one.request(), handle: undefined }));
        expect(await one.operations.get('delete')).to.be.a('string');
      }
      await cloud.over(() => one.driver.delete({ ...one.request(), handle: undefined }));
      expect(await one.operations.get('delete')).to.equal(undefined);
    }
  });
});
