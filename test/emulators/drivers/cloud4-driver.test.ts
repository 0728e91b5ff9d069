import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type AccessMode, type Driver, memoryOperations } from '@kedge/driver-sdk';
import type { Fault } from '../core/faults.js';
import { makeServiceAccount } from '../cloud4/service-account.js';
import { type CloudChoice, EmulatedCloud, sweepAccount } from '../sweep/emulated-cloud.js';
import { CalledDriver, refusalOf } from './called-driver.js';

const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';
const zone = 'europe-west3-a';
const project = 'emulated-project';
const here = `/compute/v1/projects/${project}/zones/${zone}`;
const disks = 'POST /compute/v1/projects/*/zones/*/disks';
const handle = `projects/${project}/zones/${zone}/disks/kedge-${uid}`;
const gib = 1024n ** 3n;

describe('cloud4-disk', () => {
  let folder: string;
  let cloud: EmulatedCloud;
  let driver: Driver;
  const started = async (choice: CloudChoice = {}): Promise<void> => {
    const kept = await mkdtemp(join(folder, 'disks-'));
    const instances = [
      { name: 'worker-1', place: zone },
      { name: 'worker-2', place: zone },
      { name: 'far', place: 'europe-west3-b' },
    ];
    cloud = new EmulatedCloud('cloud4', kept, { actionMs: 0, instances, ...choice });
    driver = await cloud.driver();
  };
  const volume = (of = uid, parameters = {}): CalledDriver =>
    new CalledDriver(cloud, driver, of, { ...cloud.parameters, ...parameters });
  const requests = (): readonly string[] =>
    cloud.emulator.requests.map(({ method, path }) => {
      const short = path.replace(here, '').replace(`/compute/v1/projects/${project}`, '');
      return `${method} ${short.replace(`kedge-${uid}`, 'DISK').replace(/operation-[^/]+/, 'ID')}`;
    });
  const bodies = (): readonly Record<string, unknown>[] =>
    cloud.emulator.requests.flatMap(({ body }) =>
      body === '' ? [] : [JSON.parse(body) as Record<string, unknown>],
    );
  const fail = (on: string, fault: Fault): void => cloud.emulator.faults.add({ on, fault });
  const existing = async (kind: string): Promise<readonly string[]> =>
    (await cloud.emulator.inventory()).filter((one) => one.startsWith(`${kind} `));

  before(async function () {
    this.timeout(120_000);
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud4-'));
    await started();
    await cloud.loadSdk();
    await cloud.emulator.close();
  });
  beforeEach(() => started());
  afterEach(async () => {
    expect(cloud.emulator.violations).to.deep.equal([]);
    await cloud.emulator.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('provisions at least 10 GiB of pd-balanced with three requests, and a mark in the description', async () => {
    const { sizeBytes } = await volume().provision();
    expect(sizeBytes).to.equal(10n * gib);
    expect(requests()).to.deep.equal(['POST /disks', 'GET /operations/ID', 'GET /disks/DISK']);
    expect(bodies()[0]).to.include({
      name: `kedge-${uid}`,
      sizeGb: '10',
      type: `projects/${project}/zones/${zone}/diskTypes/pd-balanced`,
      description: `kedge cluster=cluster-1 uid=${uid} name=shop/data`,
    });
  });

  it('names a project that does not exist as a wrong parameter, and has nothing to delete there', async () => {
    const elsewhere = volume(uid, { project: 'my-project' });
    const error = await refusalOf(elsewhere.provision());
    expect(error.kind).to.equal('InvalidParameters');
    expect(error.message).to.contain('set parameter project to the id of a project that exists');
    await elsewhere.delete(undefined);
  });

  it('takes the zone from the label if the class names none, and then deletes without a handle', async () => {
    const { zone: _, ...parameters } = cloud.parameters;
    const one = new CalledDriver(cloud, driver, uid, parameters);
    const topology = { 'svc.io/zone': 'europe-west3-b' };
    const request = { ...one.request(), sizeBytes: gib, accessMode: 'ReadWriteOnce' } as const;
    const made = await cloud.over(() => driver.provision({ ...request, topology }));
    expect(made.handle).to.contain('/zones/europe-west3-b/disks/');
    expect((await refusalOf(driver.provision({ ...request, topology: {} }))).message).to.contain(
      'no topology label svc.io/zone',
    );
    const identity = { ...request.volume, topology };
    await cloud.over(() => driver.delete({ ...request, volume: identity, handle: undefined }));
    expect(await existing('volume')).to.deep.equal([]);
  });

  it('a creation whose answer was lost continues with the same request id, and makes one disk', async () => {
    const one = volume();
    fail(disks, { type: 'lostReply' });
    expect((await refusalOf(one.provision())).kind).to.equal('Timeout');
    await one.provision();
    expect(await existing('volume')).to.have.length(1);
  });

  it('a disk that exists already is the answer, and no error', async () => {
    await volume().provision();
    await volume().provision();
    expect(await existing('volume')).to.have.length(1);
  });

  it('a zone without capacity is QuotaExceeded, and another zone may be tried', async () => {
    const code = 'ZONE_RESOURCE_POOL_EXHAUSTED';
    fail(disks, { type: 'actionFails', code, message: 'no room' });
    const error = await refusalOf(volume().provision());
    expect(error.kind).to.equal('QuotaExceeded');
    expect(error.retryElsewhere).to.equal(true);
    expect(error.message).to.contain(`no room (${code})`);
  });

  it('the first attach of a node that is no instance of the zone names host and zone (2.5)', async () => {
    const one = volume();
    await one.provision();
    for (const node of ['far', 'Node.example.org']) {
      const { kind, message } = await refusalOf(one.attach(node));
      expect(kind).to.equal('InvalidParameters');
      expect(message).to.contain("node hostname must equal the instance name in the class's zone");
      expect(message).to.contain(`host "${node}" is not an instance in zone ${zone}`);
    }
  });

  it('attaches under the name of the disk, and detaches from its instance alone', async () => {
    const one = volume();
    await one.provision();
    expect(await one.attach()).to.deep.equal({ devicePath: `/double/links/google-kedge-${uid}` });
    const attach = bodies().find((body) => 'deviceName' in body);
    expect(attach).to.deep.include({ deviceName: `kedge-${uid}`, mode: 'READ_WRITE' });
    const { kind, message } = await refusalOf(one.attach('worker-2'));
    expect(kind).to.equal('InUse');
    expect(message).to.contain('is attached to instance worker-1, not to worker-2');
    await one.detach('worker-2');
    expect(await existing('attached')).to.have.length(1);
    expect((await refusalOf(one.delete())).kind).to.equal('InUse');
    await one.detach();
    await one.detach('gone');
    expect(await existing('attached')).to.deep.equal([]);
  });

  it('attaches a ReadOnlyMany volume read-only, to several instances', async () => {
    const one = volume();
    await one.provision();
    const accessMode: AccessMode = 'ReadOnlyMany';
    for (const node of ['worker-1', 'worker-2']) {
      const request = one.request(node);
      const shared = { ...request.volume, accessMode };
      const operations = memoryOperations();
      await cloud.over(() => driver.attach({ ...request, operations, volume: shared }));
    }
    expect(await existing('attached')).to.have.length(2);
    expect(bodies().filter(({ mode }) => mode === 'READ_ONLY')).to.have.length(2);
  });

  it('does not take an attachment that was made in another mode', async () => {
    const one = volume();
    await one.provision();
    await one.attach('worker-1');
    const readers = { ...one.request().volume, accessMode: 'ReadOnlyMany' } as const;
    const request = { ...one.request('worker-1'), volume: readers };
    const { kind, message } = await refusalOf(cloud.over(() => driver.attach(request)));
    expect(kind).to.equal('InUse');
    expect(message).to.contain('in mode READ_WRITE, not READ_ONLY');
    await one.attach('worker-1');
  });

  it('grows an attached disk, and requests no size that it has', async () => {
    const one = volume();
    await one.provision();
    await one.attach();
    await one.expand(5n);
    await one.expand(12n);
    await one.expand(12n);
    expect(requests().filter((line) => line === 'POST /disks/DISK/resize')).to.have.length(1);
  });

  it('snapshots, restores to a larger disk, and deletes both', async () => {
    const one = volume();
    await one.provision();
    const snapshot = { uid: 'copy-1', name: 'copy', namespace: 'shop' };
    const request = { ...one.request(), operations: memoryOperations(), snapshot };
    const made = await cloud.over(() => driver.createSnapshot(request));
    expect(made.handle).to.equal(`projects/${project}/global/snapshots/kedge-copy-1`);
    expect(made.restoreSizeBytes).to.equal(10n * gib);
    const { signal } = new AbortController();
    const call = { parameters: cloud.parameters, node: 'worker-1', signal };
    const { resources } = await driver.orphans!(call);
    const [listed] = resources.filter(({ type }) => type === 'snapshot');
    expect(listed).to.include({ handle: made.handle, uid: 'copy-1' });
    // Its path names the project by its id or by its number.
    expect(listed?.identity).to.match(/^\d+$/);
    const again = await cloud.over(() => driver.createSnapshot(request));
    expect(again.handle).to.equal(made.handle);
    const { handle: source } = made;
    const other = volume('restored-1');
    const restored = await cloud.over(() =>
      driver.restore({
        ...other.request(),
        ...{ sizeBytes: 12n * gib, accessMode: 'ReadWriteOnce', topology: {} },
        snapshot: { ...snapshot, handle: source },
      }),
    );
    expect(restored.sizeBytes).to.equal(12n * gib);
    await cloud.over(() => driver.deleteSnapshot({ ...request, handle: source }));
    await other.delete(restored.handle);
    await one.delete();
    expect(await cloud.emulator.inventory()).to.deep.equal([]);
  });

  it("a rate limit is pending, and 403 for a permission has the provider's words (5.3)", async () => {
    fail(disks, { type: 'rateLimited' });
    const { clock } = cloud;
    const began = clock.now();
    await volume().provision();
    expect(clock.now() - began).to.be.at.least(1_000);
    const few = makeServiceAccount('few', { permissions: ['compute.disks.get'] });
    cloud.emulator.addToken(few.token);
    const { credentialsJSON } = few;
    const refused = await refusalOf(volume('other', { credentialsJSON }).provision());
    expect(refused.kind).to.equal('CredentialsRejected');
    expect(refused.message).to.contain('compute.disks.create').and.contain('HTTP 403');
    expect(refused.message).not.to.contain('rejected credentials');
  });

  it('an operation that the key may not observe ends as Timeout, with the missing permission', async () => {
    const permissions = ['compute.disks.create', 'compute.disks.use', 'compute.disks.get'];
    const blind = makeServiceAccount('blind', { permissions });
    cloud.emulator.addToken(blind.token);
    fail(disks, { type: 'neverFinish' });
    const one = volume(uid, { credentialsJSON: blind.credentialsJSON });
    const { kind, message } = await refusalOf(one.provision());
    expect(kind).to.equal('Timeout');
    expect(message).to.contain("can't be observed").and.contain('compute.zoneOperations.get');
  });

  it('a silent provider ends each call at the deadline', async () => {
    fail(disks, { type: 'timeout' });
    const began = cloud.clock.now();
    const { kind, message } = await refusalOf(volume().provision());
    expect(kind).to.equal('Timeout');
    expect(message).to.contain('did not answer insertDisk in 30000 ms');
    expect(cloud.clock.now() - began).to.equal(30_000);
  });

  it('an unknown key and one in a wrong form are refused without being quoted', async () => {
    const stranger = makeServiceAccount('stranger');
    const { credentialsJSON } = stranger;
    const refused = await refusalOf(volume(uid, { credentialsJSON }).provision());
    expect(refused.kind).to.equal('CredentialsRejected');
    for (const text of ['no json', '{"type":"authorized_user"}', '{"type":"service_account"}']) {
      const error = await refusalOf(volume(uid, { credentialsJSON: text }).provision());
      expect(error.kind).to.equal('InvalidParameters');
      expect(error.message).to.contain('parameter credentialsJSON').and.not.contain(text);
    }
    const shown = JSON.stringify([refused.message, refused.calls]);
    expect(shown).not.to.contain(stranger.secret.split('\n')[1]);
    expect(shown).not.to.contain('eyJ');
  });

  it('lists disks and snapshots of this cluster with their objects, and finds a disk to import', async () => {
    const one = volume();
    await one.provision();
    const call = { parameters: cloud.parameters, node: 'worker-1' };
    const { signal } = new AbortController();
    const found = { cluster: 'cluster-1', uid, createdFor: 'shop/data', handle };
    const { resources, warnings } = await driver.orphans!({ ...call, signal });
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain(`zone ${zone} of project`).and.contain('another zone');
    expect(resources).to.have.length(1);
    expect(resources[0]).to.deep.include({ ...found, topology: { 'svc.io/zone': zone } });
    // The number of the disk. Its path may name the project by its id or by its number.
    const { identity } = resources[0]!;
    expect(identity).to.match(/^\d+$/);
    for (const by of [handle, `kedge-${uid}`])
      expect(await driver.find!({ ...call, signal, handle: by })).to.deep.include({
        ...found,
        identity,
      });
    const absent = await refusalOf(driver.find!({ ...call, signal, handle: 'none' }));
    expect(absent.kind).to.equal('NotFound');
  });

  it('checks permissions: what is granted, what is missing, and what nothing shows', async () => {
    const few = makeServiceAccount('few', {
      permissions: ['compute.disks.get', 'compute.instances.get'],
    });
    cloud.emulator.addToken(few.token);
    const { signal } = new AbortController();
    const checked = async (parameters: object, node = 'worker-1') => {
      const rows = await driver.check!({
        parameters: { ...cloud.parameters, ...parameters },
        ...{ node, signal },
      });
      return new Map(rows.map((row) => [row.permission, row]));
    };
    const all = await checked({});
    expect(all.get('compute.disks.get')?.state).to.equal('ok');
    expect(all.get('compute.instances.get')?.state).to.equal('ok');
    expect(all.get('instance of node worker-1')?.state).to.equal('ok');
    expect([...all.values()].filter(({ state }) => state === 'missing')).to.deep.equal([]);
    const some = await checked({ credentialsJSON: few.credentialsJSON });
    for (const permission of ['compute.zoneOperations.get', 'compute.snapshots.get'])
      expect(some.get(permission)?.state, permission).to.equal('missing');
    expect(some.get('compute.snapshots.create')?.state).to.equal('unknown');
    const far = (await checked({}, 'far')).get('instance of node far');
    expect(far?.state).to.equal('missing');
    expect(far?.message).to.contain(`host "far" is not an instance in zone ${zone}`);
    const broken = await checked({ credentialsJSON: 'x' });
    expect(broken.get('parameter credentialsJSON')?.state).to.equal('missing');
    expect(broken.get('compute.disks.create')?.state).to.equal('unknown');
  });

  it('shows no part of the key in its recent calls', async () => {
    const one = volume();
    await one.provision();
    await one.attach();
    const recentCalls = JSON.stringify(driver.recentCalls?.(uid));
    for (const line of sweepAccount.secret.split('\n').slice(1, 4))
      expect(recentCalls).not.to.contain(line);
    expect(recentCalls).not.to.contain('eyJ');
  });
});
