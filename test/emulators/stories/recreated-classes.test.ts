import { expect } from 'chai';
import type { WireRequest } from '../core/wire.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

const count = 10;

/** The call that creates a volume, and parameters of a class in another place. */
const providers = {
  cloud1: { create: 'POST /v2/volumes', other: { region: 'nyc3' } },
  cloud2: { create: 'POST /v1/volumes', other: { region: 'hel1' } },
  cloud3: { create: 'CreateVolume', other: { availabilityZone: 'eu-central-1b' } },
  cloud4: {
    create: 'POST /compute/v1/projects/*/zones/*/disks',
    other: { zone: 'europe-west3-b' },
  },
} as const;

for (const provider of half('recreated classes', ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const))
  describe(`a class of ${driverNames[provider]} that is deleted and created again while calls of its volumes hang`, function () {
    this.timeout(180_000);
    const { create, other } = providers[provider];
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    /** Creates volumes whose create calls are executed, but not answered. */
    const hanging = async (): Promise<void> => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      cloud.emulator.faults.add({
        on: create,
        times: count,
        fault: { type: 'delay', ms: 600_000 },
      });
      for (let n = 0; n < count; n += 1) await cloud.volume(`v${n}`);
      await cloud.until(
        'all at the provider',
        async () => (await cloud.existing('volume')).length === count,
      );
      await cloud.remove('/storageclasses/c?force=true');
    };
    const available = async (): Promise<void> => {
      for (let n = 0; n < count; n += 1) await cloud.volumeIn('Available', `v${n}`);
    };
    const deleteAll = async (): Promise<void> => {
      for (let n = 0; n < count; n += 1) await cloud.remove(`/namespaces/shop/volumes/v${n}`);
      for (let n = 0; n < count; n += 1) await cloud.gone(`/namespaces/shop/volumes/v${n}`);
    };

    it('as it was: each volume becomes Available with the resource of the call that hung', async () => {
      await hanging();
      const before = await cloud.existing('volume');
      await cloud.storageClass();
      await available();
      expect(await cloud.existing('volume')).to.deep.equal(before);
      await deleteAll();
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });

    it('in another place: no volume has two resources, and none remains after its deletion', async () => {
      await hanging();
      const before = await cloud.existing('volume');
      await cloud.storageClass({ ...cloud.reference(), ...other });
      await cloud.world.advance(900_000);
      expect(await cloud.existing('volume')).to.deep.equal(before);
      await deleteAll();
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });

    it('changed to another place after a lost answer: the resource in the place before is deleted', async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      cloud.emulator.faults.add({ on: create, times: 1_000, fault: { type: 'afterSuccess' } });
      // A read of cloud3-block or cloud4-disk would find the volume before the class changes.
      let isCreated = false;
      const isRead = ({
        method,
        path,
        body,
      }: Pick<WireRequest, 'method' | 'path' | 'body'>): boolean => {
        const isDisk = path.includes('/disks');
        isCreated ||= body.includes('Action=CreateVolume&') || (isDisk && method === 'POST');
        const isOfVolumes = body.includes('Action=DescribeVolumes&');
        return isCreated && (isOfVolumes || (isDisk && method === 'GET'));
      };
      cloud.emulator.faults.add({ on: isRead, times: 1_000, fault: { type: 'before' } });
      await cloud.volume();
      await cloud.until(
        'it at the provider',
        async () => (await cloud.existing('volume')).length > 0,
      );
      await cloud.storageClass({ ...cloud.reference(), ...other });
      cloud.emulator.faults.clear();
      const { topology } = await cloud.volumeIn('Available');
      expect(Object.values(topology as object)).to.include(Object.values(other)[0]);
      expect(await cloud.existing('volume')).to.have.length(1);
      await cloud.remove('/namespaces/shop/volumes/v');
      await cloud.gone('/namespaces/shop/volumes/v');
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });

    // Classes of cloud3 name the id of the key, and cloud4 answers a second request with the first disk.
    if (provider === 'cloud1' || provider === 'cloud2')
      it('changed to another place after a lost answer and a refused credential: no resource is forgotten', async () => {
        cloud = await CloudWorld.start(provider);
        await cloud.secret('cloud', cloud.credential('first'));
        await cloud.storageClass();
        cloud.emulator.faults.add({ on: create, times: 1_000, fault: { type: 'afterSuccess' } });
        await cloud.volume();
        await cloud.until(
          'it at the provider',
          async () => (await cloud.existing('volume')).length > 0,
        );
        cloud.emulator.revokeToken('first');
        await cloud.volumeIn('Failed');
        cloud.emulator.faults.clear();
        await cloud.storageClass({ ...cloud.reference(), ...other });
        await cloud.world.advance(60_000);
        await cloud.secret('cloud', cloud.credential('second'));
        const { topology } = await cloud.volumeIn('Available');
        expect(Object.values(topology as object)).to.include(Object.values(other)[0]);
        expect(await cloud.existing('volume')).to.have.length(1);
      });

    it('of another driver: each volume keeps its driver, and becomes Available with the resource of the call that hung', async () => {
      await hanging();
      const before = await cloud.existing('volume');
      await cloud.ok('POST', '/storageclasses', { name: 'c', driver: 'local' });
      await available();
      expect(await cloud.existing('volume')).to.deep.equal(before);
      await deleteAll();
      // The class had another policy when the volumes began to be provisioned.
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });

    it('not created again: each volume becomes Available with the captured parameters', async () => {
      await hanging();
      const before = await cloud.existing('volume');
      await available();
      expect(await cloud.existing('volume')).to.deep.equal(before);
      await deleteAll();
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });

    it('deleted meanwhile: nothing remains at the provider', async () => {
      await hanging();
      await cloud.storageClass({ ...cloud.reference(), ...other });
      await deleteAll();
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });
  });
