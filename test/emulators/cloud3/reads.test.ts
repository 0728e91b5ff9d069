import { expect } from 'chai';
import type { Token } from '../core/machine.js';
import { TestAccount } from './account.js';
import { type Element, itemsOf } from './client.js';
import { matches } from './filters.js';
import { specifiedPermissions } from './machine.js';

const filter = (n: number, name: string, ...values: readonly string[]) => ({
  [`Filter.${n}.Name`]: name,
  ...Object.fromEntries(values.map((value, at) => [`Filter.${n}.Value.${at + 1}`, value])),
});

const named = (name: string) => ({
  'TagSpecification.1.ResourceType': 'volume',
  ...{ 'TagSpecification.1.Tag.1.Key': 'Name', 'TagSpecification.1.Tag.1.Value': name },
});

describe('reads of cloud3', () => {
  let account: TestAccount;
  beforeEach(() => {
    account = new TestAccount();
  });
  const ids = async (action: string, set: string, id: string, form: object = {}) => {
    const found: unknown[] = [];
    let pages = 0;
    for (let token: string | undefined = ''; token !== undefined; pages += 1) {
      const next = token === '' ? {} : { NextToken: token };
      const body: Element = await account.done(action, { ...form, ...next });
      const items = itemsOf(body, set);
      expect(items.length).to.be.at.most(2);
      found.push(...items.map((one) => one[id]));
      token = body['nextToken'] as string | undefined;
    }
    return { found, pages };
  };
  const volumes = async (form: object = {}) =>
    (await ids('DescribeVolumes', 'volumeSet', 'volumeId', form)).found;

  it('have pages of at most two, regardless of MaxResults', async () => {
    const made = [];
    for (let n = 0; n < 5; n += 1) made.push(await account.volume(named(`v-${n}`)));
    const form = { ...filter(1, 'tag:Name', 'v-*'), MaxResults: 500 };
    const list = await ids('DescribeVolumes', 'volumeSet', 'volumeId', form);
    expect(list).to.deep.equal({ found: made, pages: 3 });
    await account.refused('badValue', 'DescribeVolumes', { MaxResults: 4 });
    await account.refused('badValue', 'DescribeVolumes', { MaxResults: 1_001 });
    await account.refused('badPage', 'DescribeVolumes', { NextToken: 'x' });
    const both = { MaxResults: 5, 'VolumeId.1': made[0] as string };
    await account.refused('badCombination', 'DescribeVolumes', both);
  });

  it('answer several ids at once, unless one is unknown', async () => {
    const made = [await account.volume(), await account.volume(), await account.volume()];
    const form = Object.fromEntries(made.map((id, n) => [`VolumeId.${n + 1}`, id]));
    const all = itemsOf(await account.done('DescribeVolumes', form), 'volumeSet');
    expect(all.map(({ volumeId }) => volumeId)).to.deep.equal(made);
    const unknown = { ...form, 'VolumeId.4': 'vol-00000000000000000' };
    await account.refused('volumeNotFound', 'DescribeVolumes', unknown);
  });

  it('select by filters, of which all have to match', async () => {
    const a = await account.volume(named('a'));
    const b = await account.volume({ ...named('b'), VolumeType: 'gp2' });
    const instance = await account.attached(b);
    expect(await volumes(filter(1, 'tag:Name', 'a', 'c'))).to.deep.equal([a]);
    expect(await volumes(filter(1, 'tag-key', 'Name'))).to.deep.equal([a, b]);
    expect(await volumes(filter(1, 'volume-type', 'gp2'))).to.deep.equal([b]);
    expect(await volumes(filter(1, 'status', 'available'))).to.deep.equal([a]);
    const mine = filter(1, 'attachment.instance-id', instance);
    // The root volume of the instance too.
    expect(await volumes(mine))
      .to.have.length(2)
      .and.include(b);
    const data = { ...mine, ...filter(2, 'attachment.device', '/dev/xvda?') };
    expect(await volumes(data)).to.deep.equal([b]);
    await account.refused('badValue', 'DescribeVolumes', filter(1, 'colour', 'red'));
  });

  it('match patterns in which only stars and question marks are special', () => {
    for (const pattern of ['a.b', 'a*', '*b', 'a?b', '*'])
      expect(matches(pattern, 'a.b'), pattern).to.equal(true);
    for (const pattern of ['a', 'a.b.c', 'ab', '[a].b', 'a.?.b'])
      expect(matches(pattern, 'a.b'), pattern).to.equal(false);
    expect(matches('a.b', 'axb')).to.equal(false);
  });

  it('find an instance by its id, its private DNS name and its name', async () => {
    account.emulator.addInstance({
      ...{
        name: 'node-4',
        place: 'eu-central-1a',
        dnsName: 'ip-10-0-9-9.eu-central-1.compute.internal',
      },
    });
    account.emulator.addInstance({ name: 'i-0123456789abcdef0', place: 'eu-central-1a' });
    const find = async (form: object) => {
      const all = itemsOf(await account.done('DescribeInstances', { ...form }), 'reservationSet');
      return all.flatMap((one) => itemsOf(one, 'instancesSet').map(({ instanceId }) => instanceId));
    };
    const four = await account.instance('node-4');
    expect(await find(filter(1, 'private-dns-name', 'ip-10-0-9-9.*'))).to.deep.equal([four]);
    expect(await find(filter(1, 'private-dns-name', 'ip-10-0-9-9'))).to.deep.equal([]);
    const id = 'i-0123456789abcdef0';
    expect(await find({ 'InstanceId.1': id })).to.deep.equal([id]);
    await account.emulator.removeInstance('node-4');
    expect(await find(filter(1, 'private-dns-name', 'ip-10-0-9-9.*'))).to.deep.equal([]);
    expect(await find(filter(1, 'tag:Name', 'node-4'))).to.deep.equal([four]);
    account.emulator.addInstance({ name: 'node-1', place: 'eu-central-1a' });
    expect(await find(filter(1, 'tag:Name', 'node-1'))).to.have.length(2);
  });

  it('see only their region', async () => {
    const volume = await account.volume();
    const there = await account.ask(
      'DescribeVolumes',
      { 'VolumeId.1': volume },
      { region: 'us-east-1' },
    );
    expect(there.status).to.equal(400);
    const zones = itemsOf(await account.done('DescribeAvailabilityZones'), 'availabilityZoneInfo');
    expect(zones.map(({ zoneName }) => zoneName)).to.deep.equal([
      ...['eu-central-1a', 'eu-central-1b', 'eu-central-1c'],
    ]);
  });

  it('miss what was just created, if lists lag', async () => {
    account.emulator.lagLists(2);
    const { volumeId } = await account.done('CreateVolume', {
      ...{ AvailabilityZone: 'eu-central-1a', Size: 1, ...named('late') },
    });
    expect(await volumes(filter(1, 'tag:Name', 'late'))).to.deep.equal([]);
    await account.refused('volumeNotFound', 'DescribeVolumes', {
      'VolumeId.1': volumeId as string,
    });
    expect(await volumes(filter(1, 'tag:Name', 'late'))).to.deep.equal([volumeId]);
  });

  it('describe the attachment limit of an instance type, and tags', async () => {
    const form = { 'InstanceType.1': 'm7i.large' };
    const [kind] = itemsOf(await account.done('DescribeInstanceTypes', form), 'instanceTypeSet');
    expect(kind?.['ebsInfo']).to.include({
      maximumEbsAttachments: '32',
      attachmentLimitType: 'dedicated',
    });
    const volume = await account.volume();
    await account.done('CreateTags', {
      'ResourceId.1': volume,
      'Tag.1.Key': 'tier',
      'Tag.1.Value': 'db',
    });
    const [tag] = itemsOf(
      await account.done('DescribeTags', filter(1, 'resource-id', volume)),
      'tagSet',
    );
    expect(tag).to.include({ resourceType: 'volume', key: 'tier', value: 'db' });
  });

  it('do not know other actions and versions', async () => {
    await account.refused('badAction', 'RunInstances');
    expect(account.emulator.requests.at(-1)).to.include({
      unknownRoute: true,
      action: 'RunInstances',
    });
    await account.refused('badVersion', 'DescribeVolumes', { Version: '2014-01-01' });
  });
});

describe('permissions of cloud3', () => {
  const key = (...scopes: readonly string[]): TestAccount => {
    const token: Token = { name: 'kedge', keyId: 'AKIAKEDGE', secret: 's', scopes };
    return new TestAccount({ tokens: [token] });
  };
  const order = { AvailabilityZone: 'eu-central-1a', Size: 1 };

  it('are needed for every action, and stars stand for several', async () => {
    const account = key('ec2:Describe*');
    await account.done('DescribeInstances');
    const message = await account.refused('unauthorized', 'CreateVolume', order);
    expect(message).to.contain('user/kedge is not authorized to perform: ec2:CreateVolume');
    await key('ec2:*').volume();
  });

  it('include CreateTags for a creation with tags', async () => {
    const account = key('ec2:CreateVolume');
    await account.done('CreateVolume', order);
    const message = await account.refused('unauthorized', 'CreateVolume', {
      ...order,
      ...named('a'),
    });
    expect(message).to.contain('ec2:CreateTags');
  });

  it('are checked by dry runs, which change nothing', async () => {
    const account = key(...specifiedPermissions);
    const dry = { ...order, DryRun: true };
    await account.refused('dryRun', 'CreateVolume', dry);
    await account.refused('unauthorized', 'DescribeVolumesModifications', { DryRun: true });
    await key('ec2:DescribeVolumes').refused('unauthorized', 'CreateVolume', dry);
    expect(await account.emulator.inventory()).to.deep.equal([]);
  });
});

describe('limits of cloud3', () => {
  it('are those of each action, and recover', async () => {
    const account = new TestAccount();
    const unknown = { VolumeId: 'vol-00000000000000000' };
    for (let n = 0; n < 50; n += 1)
      await account.refused('volumeNotFound', 'DeleteVolume', unknown);
    await account.refused('rateLimited', 'DeleteVolume', unknown);
    await account.refused('volumeNotFound', 'DetachVolume', unknown);
    await account.wait(200);
    await account.refused('volumeNotFound', 'DeleteVolume', unknown);
    await account.refused('rateLimited', 'DeleteVolume', unknown);
  });

  it('are lower for reads of everything', async () => {
    const account = new TestAccount();
    const statuses: number[] = [];
    for (let n = 0; n < 101; n += 1) statuses.push((await account.ask('DescribeVolumes')).status);
    expect(statuses.indexOf(503)).to.equal(50);
    const form = filter(1, 'status', 'available');
    for (let n = 0; n < 100; n += 1) await account.done('DescribeVolumes', form);
    await account.refused('rateLimited', 'DescribeVolumes', form);
  });

  it('and other scripted failures have the form of the provider', async () => {
    const account = new TestAccount();
    const { faults } = account.emulator;
    faults.add({ on: 'DescribeVolumes', fault: { type: 'rateLimited' } });
    faults.add({ on: 'DescribeVolumes', nth: 2, fault: { type: 'serverError', status: 500 } });
    faults.add({ on: 'DescribeVolumes', nth: 3, fault: { type: 'serverError' } });
    await account.refused('rateLimited', 'DescribeVolumes');
    await account.refused('serverError', 'DescribeVolumes');
    await account.refused('unavailable', 'DescribeVolumes');
    expect(faults.left).to.equal(0);
  });
});
