import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Driver } from '@kedge/driver-sdk';
import { type CloudChoice, EmulatedCloud } from '../sweep/emulated-cloud.js';
import { CalledDriver, refusalOf } from './called-driver.js';

const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';
const zone = 'eu-central-1a';
const gib = 1024n ** 3n;
const byId = 'i-0123456789abcdef0';
const domain = 'eu-central-1.compute.internal';

describe('cloud3-block', () => {
  let folder: string;
  let cloud: EmulatedCloud;
  let driver: Driver;
  const started = async (choice: CloudChoice = {}): Promise<void> => {
    const kept = await mkdtemp(join(folder, 'disks-'));
    const instances = [
      { name: 'worker-1', place: zone },
      { name: 'worker-2', place: zone, dnsName: `ip-10-0-7-7.${domain}` },
      { name: byId, place: zone },
      { name: 'twin', place: zone },
      // Its tag is the private DNS name of another one.
      { name: 'ip-10-0-7-7', place: zone },
      { name: 'far', place: 'eu-central-1b' },
    ];
    cloud = new EmulatedCloud('cloud3', kept, { actionMs: 0, instances, ...choice });
    driver = await cloud.driver();
  };
  const volume = (of = uid, parameters = {}): CalledDriver =>
    new CalledDriver(cloud, driver, of, { ...cloud.parameters, ...parameters });
  /** The forms of the requests with an action. */
  const forms = (action: string): readonly URLSearchParams[] =>
    cloud.emulator.requests
      .filter((request) => request.action === action)
      .map(({ body }) => new URLSearchParams(body));
  const last = (action: string): URLSearchParams => forms(action).at(-1)!;
  /** The tags of a request, and what they are for. */
  const tagsOf = (form: URLSearchParams): Readonly<Record<string, string>> => {
    const tags: Record<string, string> = {
      for: form.get('TagSpecification.1.ResourceType') ?? '',
    };
    for (let n = 1; form.has(`TagSpecification.1.Tag.${n}.Key`); n += 1)
      tags[form.get(`TagSpecification.1.Tag.${n}.Key`)!] = form.get(
        `TagSpecification.1.Tag.${n}.Value`,
      )!;
    return tags;
  };
  const existing = async (kind: string): Promise<readonly string[]> =>
    (await cloud.emulator.inventory()).filter((one) => one.startsWith(`${kind} `));

  before(async function () {
    this.timeout(120_000);
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud3-'));
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

  it('provisions gp3, encrypted, with its tags and the token of the first attempt; speed is left to the provider (2.5)', async () => {
    const { sizeBytes } = await volume().provision(1n);
    expect(sizeBytes).to.equal(gib);
    const form = last('CreateVolume');
    expect(Object.fromEntries(form)).to.include({
      ...{ AvailabilityZone: zone, Size: '1', VolumeType: 'gp3', Encrypted: 'true' },
    });
    for (const absent of ['Iops', 'Throughput', 'KmsKeyId'])
      expect(form.has(absent), absent).to.equal(false);
    expect(form.get('ClientToken')).to.have.length(64);
    expect(tagsOf(form)).to.deep.equal({
      ...{ for: 'volume', 'svc.io/volume-id': uid, Name: `kedge-${uid}` },
      ...{ 'svc.io/cluster-id': 'cluster-1', 'svc.io/created-for': 'shop/data' },
    });
  });

  it('passes on the parameters of the class', async () => {
    const asked = { volumeType: 'gp3', iops: '4000', throughput: '250', encrypted: 'false' };
    await volume(uid, asked).provision(10n);
    expect(Object.fromEntries(last('CreateVolume'))).to.include({
      ...{ VolumeType: 'gp3', Iops: '4000', Throughput: '250', Encrypted: 'false' },
    });
  });

  it('tags snapshots with the uid of their volume and a name of their own, and restores them to a larger volume', async () => {
    const one = volume();
    await one.provision(1n);
    const snapshot = { uid: 'snapshot-1', name: 'nightly', namespace: 'shop' };
    const request = { ...one.request(), snapshot };
    const made = await cloud.over(() => driver.createSnapshot(request));
    expect(tagsOf(last('CreateSnapshot'))).to.deep.equal({
      ...{ for: 'snapshot', 'svc.io/volume-id': uid, Name: 'kedge-snapshot-1' },
      ...{ 'svc.io/cluster-id': 'cluster-1', 'svc.io/created-for': 'shop/nightly' },
    });
    const restored = volume('restored-1');
    const asked = { sizeBytes: 3n * gib, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const source = { ...snapshot, handle: made.handle };
    const { sizeBytes } = await cloud.over(() =>
      driver.restore({ ...restored.request(), ...asked, snapshot: source }),
    );
    expect(sizeBytes).to.equal(3n * gib);
    expect(tagsOf(last('CreateVolume'))).to.include({ 'svc.io/volume-id': 'restored-1' });
  });

  it('finds the instance of a node by its id, then by the private DNS name, then by the tag Name (2.5)', async () => {
    const one = volume();
    await one.provision(1n);
    const instanceOf = async (node: string): Promise<string> => {
      await one.attach(node);
      const instance = last('AttachVolume').get('InstanceId') ?? '';
      await one.detach(node);
      return instance;
    };
    expect(await instanceOf(byId)).to.equal(byId);
    expect(forms('DescribeInstances')[0]?.get('InstanceId.1')).to.equal(byId);
    const tagged = await instanceOf('worker-2');
    // The whole name, and its first part; another instance has this part as its tag.
    expect(await instanceOf(`ip-10-0-7-7.${domain}`)).to.equal(tagged);
    expect(await instanceOf('ip-10-0-7-7')).to.equal(tagged);
    expect(await instanceOf('worker-1')).to.not.equal(tagged);
  });

  it('two instances with the name of a node are an error that names both, and so is none', async () => {
    const one = volume();
    await one.provision(1n);
    cloud.emulator.addInstance({ name: 'twin', place: zone });
    const two = await refusalOf(one.attach('twin'));
    expect(two.message.match(/\bi-[0-9a-f]{17}\b/g)).to.have.length(2);
    expect(two.message).to.contain('"twin"').and.contain('Name tag');
    const none = await refusalOf(one.attach('nowhere'));
    expect(none.kind).to.equal('InvalidParameters');
    expect(none.message).to.contain('"nowhere"').and.contain('region eu-central-1');
    expect(await existing('attached')).to.deep.equal([]);
  });

  it('an attach to an instance of another zone is refused with both zones, without an attach request', async () => {
    const one = volume();
    await one.provision(1n);
    const { kind, message } = await refusalOf(one.attach('far'));
    expect(kind).to.equal('InvalidParameters');
    expect(message).to.contain(`in zone ${zone}`).and.contain('in eu-central-1b');
    expect(forms('AttachVolume')).to.deep.equal([]);
  });

  it('uses a device name of its own for each volume of an instance, and not at once that of a detached one', async () => {
    const all = ['a', 'b', 'c', 'd'].map((name) => volume(name));
    for (const one of all) await one.provision(1n);
    const [a, b, c, d] = all as [CalledDriver, CalledDriver, CalledDriver, CalledDriver];
    await Promise.all([a.attach(), b.attach(), c.attach()]);
    await b.detach();
    await d.attach();
    const names = forms('AttachVolume').map((form) => form.get('Device'));
    expect(names).to.have.members(['/dev/xvdaa', '/dev/xvdab', '/dev/xvdac', '/dev/xvdad']);
  });

  it('lists the volumes of the region of a class, and reports that it searched no other', async () => {
    const one = volume();
    await one.provision(1n);
    const { signal } = new AbortController();
    const request = { parameters: cloud.parameters, node: 'worker-1', signal };
    const { resources, warnings } = await cloud.over(() => driver.orphans!(request));
    expect(resources.map(({ handle }) => handle)).to.deep.equal([one.handle]);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('region eu-central-1').and.contain('another region');
  });

  it('an attach to an instance that has its maximum of volumes is refused with QuotaExceeded', async () => {
    // 28 places, of which a network interface and the root volume take two.
    for (let n = 0; n < 26; n += 1) {
      const one = volume(`full-${n}`);
      await one.provision(1n);
      await one.attach();
    }
    const more = volume('one-more');
    await more.provision(1n);
    const { kind, message } = await refusalOf(more.attach());
    expect(kind).to.equal('QuotaExceeded');
    expect(message).to.contain('AttachmentLimitExceeded');
    expect(await existing('attached')).to.have.length(26);
  });

  it('grows in use up to four times in 24 hours; the fifth is refused with the rule, and made a day later', async () => {
    const one = volume();
    await one.provision(1n);
    await one.attach();
    for (const size of [2n, 3n, 4n, 5n])
      expect(await one.expand(size)).to.deep.include({ sizeBytes: size * gib });
    const { kind, message } = await refusalOf(one.expand(6n));
    expect(kind).to.equal('QuotaExceeded');
    expect(message)
      .to.contain('VolumeModificationRateExceeded')
      .and.contain('four times in 24 hours');
    expect(await one.expand(5n)).to.deep.include({ sizeBytes: 5n * gib });
    await cloud.clock.during(
      () =>
        new Promise<void>((resolve) => {
          cloud.clock.setTimer(resolve, 25 * 3_600_000);
        }),
    );
    expect(await one.expand(6n)).to.deep.include({ sizeBytes: 6n * gib });
    expect(forms('ModifyVolume').map((form) => form.get('Size'))).to.include.members(['2', '6']);
  });
});
