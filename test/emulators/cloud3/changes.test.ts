import { expect } from 'chai';
import fc from 'fast-check';
import { TestAccount } from './account.js';
import { itemsOf } from './client.js';

const dayMs = 24 * 3_600_000;

describe('modifications of cloud3', () => {
  let account: TestAccount;
  let volume: string;
  beforeEach(async () => {
    account = new TestAccount();
    volume = await account.volume();
  });
  const state = async (): Promise<unknown> => {
    const form = { 'VolumeId.1': volume };
    const body = await account.done('DescribeVolumesModifications', form);
    return itemsOf(body, 'volumeModificationSet')[0]?.['modificationState'];
  };
  const grow = (size: number) => ({ VolumeId: volume, Size: size });
  const grown = async (size: number): Promise<void> => {
    await account.done('ModifyVolume', grow(size));
    await account.wait(2_000);
  };

  it('have the new size from the state optimizing', async () => {
    expect(await state()).to.equal(undefined);
    const begun = await account.done('ModifyVolume', grow(20));
    expect(begun['volumeModification']).to.include({ originalSize: '10', targetSize: '20' });
    expect(await state()).to.equal('modifying');
    expect(await account.described(volume)).to.include({ size: '10' });
    await account.wait();
    expect(await state()).to.equal('optimizing');
    expect(await account.described(volume)).to.include({ size: '20' });
    expect(account.devices.changes.at(-1)).to.deep.equal({
      ...{ type: 'resized', volume, sizeBytes: 20 * 2 ** 30 },
    });
    await account.wait();
    expect(await state()).to.equal('completed');
  });

  it('are refused while one runs, also while it is optimized', async () => {
    await account.done('ModifyVolume', grow(20));
    expect(await account.refused('modifying', 'ModifyVolume', grow(30))).to.contain('MODIFYING');
    await account.wait();
    expect(await account.refused('modifying', 'ModifyVolume', grow(30))).to.contain('OPTIMIZING');
  });

  it('are at most four in 24 hours, including those without a change', async () => {
    await grown(11);
    await grown(11);
    await grown(12);
    await grown(13);
    await account.refused('modificationRate', 'ModifyVolume', grow(14));
    await account.wait(dayMs - 8_000);
    await grown(14);
  });

  it('do not shrink, and keep the rules of the type', async () => {
    await account.refused('shrink', 'ModifyVolume', grow(9));
    await account.refused('badValue', 'ModifyVolume', { ...grow(20), Iops: 1 });
    await account.done('ModifyVolume', { VolumeId: volume, VolumeType: 'gp2' });
    await account.wait();
    const { throughput, ...form } = await account.described(volume);
    expect(throughput).to.equal(undefined);
    expect(form).to.include({ volumeType: 'gp2', iops: '100' });
  });

  it('that fail change nothing and do not count', async () => {
    const fault = { type: 'actionFails', code: 'x', message: 'x' } as const;
    account.emulator.faults.add({ on: 'ModifyVolume', times: 5, fault });
    for (let n = 0; n < 5; n += 1) await grown(20);
    expect(await state()).to.equal('failed');
    expect(await account.described(volume)).to.include({ size: '10' });
    await grown(20);
    expect(await state()).to.equal('completed');
  });
});

describe('snapshots of cloud3', () => {
  let account: TestAccount;
  let volume: string;
  beforeEach(async () => {
    account = new TestAccount();
    volume = await account.volume();
  });
  const order = (more: object = {}) => ({ VolumeId: volume, ...more });
  const snapshot = async (more: object = {}): Promise<string> =>
    (await account.done('CreateSnapshot', order(more)))['snapshotId'] as string;

  it('have the content of the moment of the request', async () => {
    const id = await snapshot({ Description: 'nightly' });
    expect(account.devices.changes.at(-1)).to.deep.equal({
      ...{ type: 'snapshotted', volume, snapshot: id },
    });
    const seen = async () =>
      itemsOf(await account.done('DescribeSnapshots', { 'SnapshotId.1': id }), 'snapshotSet')[0];
    expect(await seen()).to.include({
      status: 'pending',
      description: 'nightly',
      volumeSize: '10',
    });
    const copy = { AvailabilityZone: 'eu-central-1b', SnapshotId: id };
    await account.refused('snapshotState', 'CreateVolume', copy);
    await account.wait();
    expect(await seen()).to.include({ status: 'completed', progress: '100%' });
    await account.refused('badValue', 'CreateVolume', { ...copy, Size: 9 });
    const made = await account.done('CreateVolume', copy);
    expect(made).to.include({ size: '10', snapshotId: id });
    const larger = await account.done('CreateVolume', { ...copy, Size: 20 });
    expect(account.devices.changes.slice(-2)).to.deep.equal([
      { type: 'created', volume: larger['volumeId'], sizeBytes: 20 * 2 ** 30, from: id },
      { type: 'resized', volume: larger['volumeId'], sizeBytes: 20 * 2 ** 30 },
    ]);
    await account.done('DeleteSnapshot', { SnapshotId: id });
    await account.refused('snapshotNotFound', 'DescribeSnapshots', { 'SnapshotId.1': id });
    await account.refused('snapshotNotFound', 'DeleteSnapshot', { SnapshotId: id });
  });

  it('are two for two equal requests, because there is no client token', async () => {
    expect(await snapshot()).not.to.equal(await snapshot());
  });

  it('are at most five that are not complete, and have a limit', async () => {
    for (let n = 0; n < 5; n += 1) await snapshot();
    await account.refused('snapshotRate', 'CreateSnapshot', order());
    await account.wait();
    account = new TestAccount({ snapshotsMax: 0 });
    volume = await account.volume();
    await account.refused('snapshotLimit', 'CreateSnapshot', order());
  });

  it('end in the state error if they fail', async () => {
    const fault = { type: 'actionFails', code: 'x', message: 'x' } as const;
    account.emulator.faults.add({ on: 'CreateSnapshot', fault });
    const id = await snapshot();
    await account.wait();
    const body = await account.done('DescribeSnapshots', { 'SnapshotId.1': id });
    expect(itemsOf(body, 'snapshotSet')[0]).to.include({ status: 'error' });
  });
});

it('cloud3 keeps its rules in any order of the calls', async () => {
  const step = fc.record({
    kind: fc.constantFrom('create', 'attach', 'detach', 'modify', 'delete', 'wait', 'snapshot'),
    volume: fc.nat(2),
    node: fc.constantFrom('node-1', 'node-2', 'far'),
    size: fc.integer({ min: 10, max: 14 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const account = new TestAccount({ requestsMax: { hour: 1e9, minute: 1e9 } });
      const ids = new Map<number, string>();
      for (const { kind, volume: n, node, size } of steps) {
        const id = ids.get(n) ?? 'vol-00000000000000000';
        if (kind === 'wait') await account.wait(500);
        else if (kind === 'create') {
          const form = {
            AvailabilityZone: 'eu-central-1a',
            Size: size,
            ClientToken: `v${n}-${size}`,
          };
          const answer = await account.ask('CreateVolume', form);
          if (answer.status === 200 && !ids.has(n)) ids.set(n, answer.body['volumeId'] as string);
        } else {
          const attach = { InstanceId: await account.instance(node), Device: '/dev/xvdaa' };
          const forms = {
            attach: ['AttachVolume', { VolumeId: id, ...attach }],
            detach: ['DetachVolume', { VolumeId: id }],
            modify: ['ModifyVolume', { VolumeId: id, Size: size }],
            delete: ['DeleteVolume', { VolumeId: id }],
            snapshot: ['CreateSnapshot', { VolumeId: id }],
          } as const;
          const [action, form] = forms[kind];
          expect((await account.ask(action, form)).status).to.be.oneOf([200, 400]);
        }
        const running = account.emulator.actions.filter(({ status }) => status === 'running');
        const locks = running.flatMap(({ locks: held }) => held);
        expect(new Set(locks).size, 'a lock is held once').to.equal(locks.length);
      }
      await account.wait(2_000);
      const attached = new Set<string>();
      const disks = new Set<string>();
      for (const change of account.devices.changes) {
        if (change.type === 'created') disks.add(change.volume);
        else if (change.type === 'attached') {
          expect(attached.has(change.volume), 'attached twice').to.equal(false);
          attached.add(change.volume);
        } else if (change.type === 'detached')
          expect(attached.delete(change.volume), 'detached twice').to.equal(true);
        else if (change.type === 'deleted') {
          expect(attached.has(change.volume)).to.equal(false);
          expect(disks.delete(change.volume), 'deleted twice').to.equal(true);
        }
      }
      const inventory = await account.emulator.inventory();
      const named = (kind: string): readonly string[] =>
        inventory.filter((one) => one.startsWith(`${kind} `)).map((one) => one.split(' ')[1] ?? '');
      expect(named('attached')).to.have.members([...attached]);
      expect(named('volume')).to.have.members([...disks]);
    }),
    { numRuns: 40 },
  );
}).timeout(120_000);
