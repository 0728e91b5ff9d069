import { expect } from 'chai';
import { createEmulator } from '../index.js';
import { TestAccount } from './account.js';
import { type Element, itemsOf } from './client.js';

const order = { AvailabilityZone: 'eu-central-1a', Size: 10, VolumeType: 'gp3' };
const noVolume = 'vol-00000000000000000';

describe('cloud3', () => {
  let account: TestAccount;
  beforeEach(() => {
    account = new TestAccount();
  });

  it('creates, attaches, detaches and deletes a volume', async () => {
    const { devices } = account;
    const created = await account.done('CreateVolume', {
      ...{ ...order, Encrypted: true, 'TagSpecification.1.ResourceType': 'volume' },
      ...{ 'TagSpecification.1.Tag.1.Key': 'Name', 'TagSpecification.1.Tag.1.Value': 'a <&> b' },
    });
    const id = created['volumeId'] as string;
    expect(created).to.include({ status: 'creating', size: '10', encrypted: 'true', iops: '3000' });
    await account.refused('volumeState', 'DeleteVolume', { VolumeId: id });
    await account.wait();
    expect(await account.described(id)).to.deep.include({
      ...{ status: 'available', throughput: '125', attachmentSet: '' },
      tagSet: { item: { key: 'Name', value: 'a <&> b' } },
    });
    const instance = await account.instance('node-1');
    const both = { VolumeId: id, InstanceId: instance };
    const attaching = await account.done('AttachVolume', { ...both, Device: '/dev/xvdaa' });
    expect(attaching).to.include({ status: 'attaching', device: '/dev/xvdaa' });
    expect(await account.described(id)).to.include({ status: 'in-use' });
    await account.wait();
    const [attachment] = itemsOf(await account.described(id), 'attachmentSet');
    expect(attachment).to.include({ status: 'attached', instanceId: instance });
    await account.refused('volumeInUse', 'DeleteVolume', { VolumeId: id });
    expect(await account.done('DetachVolume', both)).to.include({ status: 'detaching' });
    await account.refused('volumeState', 'DetachVolume', both);
    await account.wait();
    expect(await account.described(id)).to.include({ status: 'available' });
    expect(await account.done('DeleteVolume', { VolumeId: id })).to.include({ return: 'true' });
    expect(await account.described(id)).to.include({ status: 'deleting' });
    await account.wait();
    await account.refused('volumeNotFound', 'DescribeVolumes', { 'VolumeId.1': id });
    const link = `nvme-Amazon_Elastic_Block_Store_${id.replace('-', '')}`;
    const of = { volume: id, instance: 'node-1', link };
    expect(devices.changes).to.deep.equal([
      { type: 'created', volume: id, sizeBytes: 10 * 2 ** 30 },
      ...[
        { type: 'attached', ...of },
        { type: 'detached', ...of },
      ],
      { type: 'deleted', volume: id },
    ]);
    expect(await account.emulator.inventory()).to.deep.equal([]);
  });

  it('gives a volume the type gp2 if the request names none', async () => {
    const form = { AvailabilityZone: 'eu-central-1a', Size: 10 };
    expect(await account.done('CreateVolume', form)).to.include({
      ...{ volumeType: 'gp2', iops: '100', encrypted: 'false' },
    });
  });

  describe('refuses to create a volume', () => {
    for (const [what, refusal, form] of [
      ['in an unknown zone', 'zoneUnknown', { AvailabilityZone: 'eu-central-1z' }],
      ['in the zone of another region', 'zoneUnknown', { AvailabilityZone: 'us-east-1a' }],
      ['of an unknown type', 'badValue', { VolumeType: 'gp9' }],
      ['of a size that is no number', 'badValue', { Size: 'ten' }],
      ['that is too small', 'badValue', { VolumeType: 'st1', Size: 124 }],
      ['that is too large', 'badValue', { VolumeType: 'gp2', Size: 16_385 }],
      ['of io2 without IOPS', 'missing', { VolumeType: 'io2' }],
      ['with IOPS for gp2', 'badCombination', { VolumeType: 'gp2', Iops: 3_000 }],
      ['with too few IOPS', 'badValue', { Iops: 2_999 }],
      [
        'with throughput for io2',
        'badCombination',
        { VolumeType: 'io2', Iops: 100, Throughput: 125 },
      ],
      ['with too much throughput', 'badValue', { Throughput: 2_001 }],
      ['with a key but not encrypted', 'badCombination', { KmsKeyId: 'alias/a' }],
      ['from an unknown snapshot', 'snapshotNotFound', { SnapshotId: 'snap-00000000000000000' }],
      ['with an unknown parameter', 'unknownParameter', { Colour: 'red' }],
      [
        'with tags of another resource',
        'badValue',
        { 'TagSpecification.1.ResourceType': 'snapshot', 'TagSpecification.1.Tag.1.Key': 'a' },
      ],
      [
        'with a reserved tag',
        'badValue',
        { 'TagSpecification.1.ResourceType': 'volume', 'TagSpecification.1.Tag.1.Key': 'aws:a' },
      ],
    ] as const)
      it(`${what}`, async () => {
        await account.refused(refusal, 'CreateVolume', { ...order, ...form });
        expect(await account.emulator.inventory()).to.deep.equal([]);
      });

    it('without a zone or a size', async () => {
      await account.refused('missing', 'CreateVolume', { Size: 1 });
      await account.refused('missing', 'CreateVolume', { AvailabilityZone: 'eu-central-1a' });
    });

    it('over the limit, and in a zone without capacity', async () => {
      account = new TestAccount({ volumesMax: 1 });
      account.emulator.setFull('eu-central-1a', true);
      await account.refused('noCapacity', 'CreateVolume', order);
      await account.done('CreateVolume', { ...order, AvailabilityZone: 'eu-central-1b' });
      account.emulator.setFull('eu-central-1a', false);
      await account.refused('volumeLimit', 'CreateVolume', order);
    });
  });

  describe('with a client token', () => {
    const once = { ...order, ClientToken: 'token-1' };

    it('creates one volume for equal requests', async () => {
      const { volumeId } = await account.done('CreateVolume', once);
      await account.wait();
      const again = await account.done('CreateVolume', once);
      expect(again).to.include({ volumeId, status: 'available' });
      expect(await account.emulator.inventory()).to.have.length(1);
      await account.refused('tokenReused', 'CreateVolume', { ...once, Size: 11 });
    });

    it('refuses more than 64 characters', async () => {
      const form = { ...order, ClientToken: 'x'.repeat(65) };
      await account.refused('tokenTooLong', 'CreateVolume', form);
    });

    it('keeps the token of a deleted volume for a day', async () => {
      const { volumeId } = await account.done('CreateVolume', once);
      await account.wait();
      await account.done('DeleteVolume', { VolumeId: volumeId as string });
      await account.wait();
      await account.refused('tokenReused', 'CreateVolume', once);
      await account.wait(24 * 3_600_000);
      const again = await account.done('CreateVolume', once);
      expect(again['volumeId']).not.to.equal(volumeId);
    });

    it('refuses the token of a creation that failed later', async () => {
      account = new TestAccount({ kmsKeys: ['alias/known'] });
      const form = { ...once, Encrypted: true, KmsKeyId: 'alias/unknown' };
      const { volumeId } = await account.done('CreateVolume', form);
      await account.wait();
      await account.refused('volumeNotFound', 'DescribeVolumes', {
        'VolumeId.1': volumeId as string,
      });
      await account.refused('tokenReused', 'CreateVolume', form);
      await account.done('CreateVolume', {
        ...form,
        KmsKeyId: 'alias/known',
        ClientToken: 'other',
      });
    });
  });

  describe('refuses to attach', () => {
    let volume: string;
    let here: string;
    beforeEach(async () => {
      volume = await account.volume();
      here = await account.instance('node-1');
    });
    const attach = (more: object) => ({
      ...{ VolumeId: volume, InstanceId: here, Device: '/dev/xvdaa', ...more },
    });

    it('what does not exist or has a malformed id', async () => {
      const unknown = attach({ VolumeId: noVolume });
      await account.refused('volumeNotFound', 'AttachVolume', unknown);
      await account.refused('badVolumeId', 'AttachVolume', attach({ VolumeId: '12' }));
      const nowhere = attach({ InstanceId: 'i-00000000000000000' });
      await account.refused('instanceNotFound', 'AttachVolume', nowhere);
      await account.refused('badInstanceId', 'AttachVolume', attach({ InstanceId: 'node-1' }));
    });

    it('at a device that is taken or has an invalid name', async () => {
      await account.attached(await account.volume());
      await account.refused('deviceTaken', 'AttachVolume', attach({}));
      await account.refused('deviceTaken', 'AttachVolume', attach({ Device: '/dev/xvda' }));
      await account.refused('badValue', 'AttachVolume', attach({ Device: '/dev/xvdea' }));
      await account.refused('badValue', 'AttachVolume', attach({ Device: 'xvdaa' }));
    });

    it('a volume of another zone, an attached one and one that is being created', async () => {
      const far = await account.instance('far');
      await account.refused('otherZone', 'AttachVolume', attach({ InstanceId: far }));
      await account.attached(volume);
      await account.refused('volumeAttached', 'AttachVolume', attach({ Device: '/dev/xvdab' }));
      const { volumeId } = await account.done('CreateVolume', order);
      const form = attach({ VolumeId: volumeId, Device: '/dev/xvdab' });
      await account.refused('volumeState', 'AttachVolume', form);
    });

    it('more than an instance can have, root volume and network interface included', async () => {
      const name = (n: number) => `/dev/xvdb${String.fromCharCode(97 + n)}`;
      for (let n = 0; n < 26; n += 1)
        await account.attached(await account.volume(), 'node-1', name(n));
      await account.refused('attachLimit', 'AttachVolume', attach({}));
    });

    it('to a terminated instance, which stays visible for an hour', async () => {
      await account.attached(volume);
      await account.emulator.removeInstance('node-1');
      expect(await account.described(volume)).to.include({ status: 'available' });
      await account.refused('instanceState', 'AttachVolume', attach({}));
      const form = { 'InstanceId.1': here };
      const [one] = itemsOf(await account.done('DescribeInstances', form), 'reservationSet');
      const [instance] = itemsOf(one as Element, 'instancesSet');
      expect(instance).to.deep.include({ instanceState: { code: '48', name: 'terminated' } });
      await account.wait(3_600_000);
      await account.refused('instanceNotFound', 'DescribeInstances', form);
    });
  });

  it('detaches only what is attached there', async () => {
    const volume = await account.volume();
    await account.refused('volumeState', 'DetachVolume', { VolumeId: volume });
    await account.attached(volume);
    const other = await account.instance('node-2');
    const form = { VolumeId: volume, InstanceId: other };
    await account.refused('attachmentNotFound', 'DetachVolume', form);
    await account.refused('attachmentNotFound', 'DetachVolume', {
      VolumeId: volume,
      Device: '/dev/xvdab',
    });
    await account.done('DetachVolume', { VolumeId: volume });
  });

  it('detaches a volume that is still attaching, and with Force one that is busy', async () => {
    const volume = await account.volume();
    const { faults } = account.emulator;
    faults.add({ on: 'AttachVolume', fault: { type: 'neverFinish' } });
    await account.attached(volume);
    expect(itemsOf(await account.described(volume), 'attachmentSet')[0]).to.include({
      status: 'attaching',
    });
    await account.done('DetachVolume', { VolumeId: volume });
    expect(await account.described(volume)).to.include({ status: 'available' });
    await account.attached(volume);
    faults.add({ on: 'DetachVolume', fault: { type: 'neverFinish' } });
    await account.done('DetachVolume', { VolumeId: volume });
    await account.wait(60_000);
    expect(itemsOf(await account.described(volume), 'attachmentSet')[0]).to.include({
      status: 'busy',
    });
    await account.done('DetachVolume', { VolumeId: volume, Force: true });
    await account.wait();
    expect(await account.described(volume)).to.include({ status: 'available' });
  });

  it('keeps volumes, attachments and client tokens after a restart', async () => {
    const { emulator, machine } = createEmulator({
      ...{ provider: 'cloud3', clock: account.clock },
      instances: [{ name: 'node-1', place: 'eu-central-1a' }],
    });
    Object.assign(account, { emulator });
    const volume = await account.volume({ ClientToken: 'once' });
    await account.attached(volume);
    const saved: unknown = JSON.parse(JSON.stringify(machine.save()));
    const restarted = createEmulator({ provider: 'cloud3', clock: account.clock, saved });
    Object.assign(account, { emulator: restarted.emulator });
    expect(await account.emulator.inventory()).to.include(`attached ${volume} to node-1`);
    expect(await account.volume({ ClientToken: 'once' })).to.equal(volume);
    expect(await account.volume()).not.to.equal(volume);
  });
});
