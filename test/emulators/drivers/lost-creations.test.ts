import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Driver, isPending, memoryOperations } from '@kedge/driver-sdk';
import { pauseOn } from '@kedge/driver-sdk/provider';
import { askCloud3, itemsOf, testKey } from '../cloud3/client.js';
import type { FaultLine } from '../core/faults.js';
import type { ProviderName } from '../index.js';
import { EmulatedCloud, here, places } from '../sweep/emulated-cloud.js';
import { CalledDriver, refusalOf } from './called-driver.js';

const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';
const other = '1e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a71';
const providers = ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const;
const creation = (provider: ProviderName): FaultLine['on'] =>
  provider === 'cloud3'
    ? 'CreateVolume'
    : ({ method, path }) => method === 'POST' && /\/(volumes|disks)$/.test(path);
/** An answer of cloud4, which reads by name, as if the disk did not exist yet. */
const notFound = {
  error: {
    code: 404,
    message: 'not found',
    errors: [{ reason: 'notFound', message: 'not found' }],
  },
};
/** An answer of cloud2 for an action that it has forgotten. */
const absentAction = JSON.stringify({ error: { code: 'not_found', message: 'not found' } });
const yearMs = 365 * 24 * 3_600_000;
const elsewhere = {
  cloud1: { region: 'mars' },
  cloud2: { region: 'mars', location: 'mars' },
  cloud3: { availabilityZone: 'mars-1a' },
  cloud4: { zone: 'mars-1a' },
} as const satisfies Readonly<Record<ProviderName, Readonly<Record<string, string>>>>;

for (const provider of providers)
  describe(`a creation at ${provider}`, function () {
    this.timeout(120_000);
    let folder: string;
    let cloud: EmulatedCloud;
    let driver: Driver;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-lost-'));
    });
    beforeEach(async () => {
      const disks = await mkdtemp(join(folder, 'disks-'));
      const instances = [{ name: here, place: places[provider] }];
      cloud = new EmulatedCloud(provider, disks, { actionMs: 0, instances });
      await cloud.loadSdk();
      driver = await cloud.driver();
    });
    afterEach(() => cloud.emulator.close());
    after(() => rm(folder, { recursive: true, force: true }));

    const volume = (of = uid, more = {}): CalledDriver =>
      new CalledDriver(cloud, driver, of, { ...cloud.parameters, ...more });
    const existing = async (): Promise<readonly string[]> =>
      (await cloud.emulator.inventory()).filter((line) => line.startsWith('volume '));

    it('whose answer is lost leaves nothing after a deletion, also while its provider does not show it yet', async () => {
      const one = volume();
      cloud.emulator.lagLists(1);
      cloud.emulator.faults.add({ on: creation(provider), fault: { type: 'lostReply' } });
      const body = JSON.stringify(notFound);
      if (provider === 'cloud4')
        cloud.emulator.faults.add({
          on: ({ method, path }) => method === 'GET' && path.includes('/disks/'),
          fault: { type: 'answer', status: 404, body },
        });
      const { signal, ...request } = one.request();
      const asked = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
      await refusalOf(Promise.resolve(driver.provision({ ...request, ...asked, signal })));
      expect(await existing()).to.have.length(1);
      const gone = { ...request, handle: undefined, signal };
      const first = await driver.delete(gone);
      expect(first && isPending(first)).to.equal(true);
      await cloud.over(() => driver.delete(gone));
      expect(await existing()).to.deep.equal([]);
    });

    it('whose answer is lost is not forgotten because a later call is refused', async () => {
      const one = volume();
      cloud.emulator.lagLists(2);
      const asked = creation(provider);
      cloud.emulator.faults.add({ on: asked, fault: { type: 'lostReply' } });
      const refused = { type: 'answer', status: 401, body: '{}' } as const;
      cloud.emulator.faults.add({ on: asked, nth: 2, times: 9, fault: refused });
      const body = JSON.stringify(notFound);
      if (provider === 'cloud4')
        cloud.emulator.faults.add({
          on: ({ method, path }) => method === 'GET' && path.includes('/disks/'),
          fault: { type: 'answer', status: 404, body },
        });
      const { signal, ...request } = one.request();
      const size = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
      const provision = () => Promise.resolve(driver.provision({ ...request, ...size, signal }));
      await refusalOf(provision());
      await refusalOf(provision());
      expect(await existing()).to.have.length(1);
      expect(await one.operations.get('provision')).to.not.equal(undefined);
      await cloud.over(() => driver.delete({ ...request, handle: undefined, signal }));
      expect(await existing()).to.deep.equal([]);
    });

    it('that is refused has no operation for which a deletion would wait', async () => {
      const one = volume(uid, elsewhere[provider]);
      await refusalOf(one.provision());
      expect(await one.operations.get('provision')).to.equal(undefined);
    });

    it('that is refused by the rate limit has no operation for which a deletion would wait', async () => {
      const one = volume();
      const limited = { type: 'answer', status: 429, body: '' } as const;
      cloud.emulator.faults.add({ on: creation(provider), fault: limited });
      const { signal, ...request } = one.request();
      const size = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
      const answer = await driver.provision({ ...request, ...size, signal });
      expect(isPending(answer)).to.equal(true);
      expect(await one.operations.get('provision')).to.equal(undefined);
      await cloud.over(() => driver.provision({ ...request, ...size, signal }));
      expect(await existing()).to.have.length(1);
    });

    if (provider === 'cloud2' || provider === 'cloud4')
      it('that was made is not forgotten because its repetition within one call is refused by the rate limit', async () => {
        const one = volume();
        cloud.emulator.lagLists(9);
        const asked = creation(provider);
        const limited = { type: 'answer', status: 429, body: '' } as const;
        cloud.emulator.faults.add({ on: asked, nth: 2, times: 9, fault: limited });
        // The provider has forgotten the operation, and does not show the disk yet.
        const hidden = provider === 'cloud2' ? absentAction : JSON.stringify(notFound);
        cloud.emulator.faults.add({
          on: ({ method, path }) =>
            method === 'GET' && /\/(actions|operations|disks)\/[^/]+$/.test(path),
          times: 99,
          fault: { type: 'answer', status: 404, body: hidden },
        });
        const { signal, ...request } = one.request();
        const size = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
        const answer = await cloud.clock.during(() =>
          Promise.resolve(driver.provision({ ...request, ...size, signal })),
        );
        expect(isPending(answer)).to.equal(true);
        expect(await existing()).to.have.length(1);
        expect(await one.operations.get('provision')).to.not.equal(undefined);
      });

    // The others store no time.
    if (provider === 'cloud1' || provider === 'cloud3')
      it('without an answer does not delay its deletion for longer if the clock was far ahead', async () => {
        const one = volume();
        const { signal, ...request } = one.request();
        const then = String(cloud.clock.now() + yearMs);
        await one.operations.set('provision', `${provider === 'cloud1' ? 'create' : '1'} ${then}`);
        const gone = { ...request, handle: undefined, signal };
        expect(isPending((await driver.delete(gone))!), 'it may be listed later').to.equal(true);
        const began = cloud.clock.monotonic();
        for (let calls = 0; calls < 30 && (await driver.delete(gone)); calls += 1)
          await cloud.over(() => pauseOn(cloud.clock, 10_000, signal));
        expect(await driver.delete(gone)).to.equal(undefined);
        expect(cloud.clock.monotonic() - began).to.be.within(50_000, 120_000);
      });

    it('is not that of another volume: neither is deleted by the handle of the other', async () => {
      const one = volume();
      const two = volume(other);
      await one.provision();
      await two.provision();
      expect((await refusalOf(two.delete(one.handle))).kind).to.equal('InvalidParameters');
      expect(await existing()).to.have.length(2);
    });
  });

describe('snapshots of cloud3-block whose creation had no answer', function () {
  this.timeout(120_000);
  let folder: string;
  let cloud: EmulatedCloud;
  let driver: Driver;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-lost-'));
    cloud = new EmulatedCloud('cloud3', folder, { actionMs: 0 });
    await cloud.loadSdk();
    driver = await cloud.driver();
  });
  after(async () => {
    await cloud.emulator.close();
    await rm(folder, { recursive: true, force: true });
  });

  const snapshot = { uid: other, namespace: 'shop', name: 's' };

  it('are one in the end: further ones are deleted', async () => {
    const one = new CalledDriver(cloud, driver, uid);
    await one.provision();
    const of = 'TagSpecification.1';
    const form = {
      ...{ VolumeId: one.handle, [`${of}.ResourceType`]: 'snapshot' },
      ...{ [`${of}.Tag.1.Key`]: 'Name', [`${of}.Tag.1.Value`]: `kedge-${other}` },
    };
    const secret = cloud.parameters['secretAccessKey'] ?? '';
    const key = { ...testKey, name: cloud.parameters['accessKeyId'] ?? '', secret };
    for (let n = 0; n < 2; n += 1)
      await askCloud3(cloud.emulator, { action: 'CreateSnapshot', form, key });
    const operations = memoryOperations();
    await cloud.over(() => driver.createSnapshot({ ...one.request(), snapshot, operations }));
    const { body } = await askCloud3(cloud.emulator, { action: 'DescribeSnapshots', key });
    expect(itemsOf(body, 'snapshotSet')).to.have.length(1);
  });

  it('are not waited for longer if the clock was far ahead', async () => {
    for (const call of ['deleteSnapshot', 'createSnapshot'] as const) {
      const one = new CalledDriver(cloud, driver, crypto.randomUUID());
      await one.provision();
      const { signal, ...given } = one.request();
      const of = { ...snapshot, uid: crypto.randomUUID() };
      const request = { ...given, snapshot: of, signal };
      await one.operations.set('createSnapshot', String(cloud.clock.now() + yearMs));
      const again = async (): Promise<boolean> => {
        const asked = call === 'deleteSnapshot' ? { ...request, handle: undefined } : request;
        const answer = await driver[call]?.(asked as never);
        return answer !== undefined && isPending(answer);
      };
      expect(await again(), 'it may be listed later').to.equal(true);
      for (let calls = 0; calls < 30 && (await again()); calls += 1)
        await cloud.over(() => pauseOn(cloud.clock, 10_000, signal));
      expect(await again(), call).to.equal(false);
    }
  });

  it('are waited for by their deletion', async () => {
    const one = new CalledDriver(cloud, driver, uid);
    const operations = memoryOperations();
    await operations.set('createSnapshot', String(cloud.clock.now()));
    const request = { ...one.request(), snapshot: { ...snapshot, uid }, operations };
    const answer = await driver.deleteSnapshot({ ...request, handle: undefined });
    expect(answer).to.deep.include({ type: 'pending' });
    expect(await operations.get('createSnapshot')).to.not.equal(undefined);
  });
});

describe('a snapshot of cloud4-disk after a failed one', function () {
  this.timeout(120_000);

  it('is created once the removal of that one has ended, which would delete it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-lost-'));
    const cloud = new EmulatedCloud('cloud4', folder, { actionMs: 0 });
    await cloud.loadSdk();
    const driver = await cloud.driver();
    const one = new CalledDriver(cloud, driver, uid);
    await one.provision();
    const operations = memoryOperations();
    await operations.set('deleteSnapshot', crypto.randomUUID());
    const snapshot = { uid: other, namespace: 'shop', name: 's' };
    await cloud.over(() => driver.createSnapshot({ ...one.request(), snapshot, operations }));
    expect(await operations.get('deleteSnapshot')).to.equal(undefined);
    await cloud.emulator.close();
    await rm(folder, { recursive: true, force: true });
  });
});
