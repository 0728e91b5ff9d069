import { expect } from 'chai';
import { driverNames } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

for (const provider of half('lost credentials', ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const))
  describe(`credentials of ${driverNames[provider]} that are gone (specification 5.3.2)`, function () {
    this.timeout(180_000);
    let cloud: CloudWorld;
    beforeEach(async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      await cloud.volume();
    });
    afterEach(() => cloud.stop());

    const mounted = async (): Promise<void> => {
      await cloud.service();
      await cloud.running();
      expect(await cloud.existing('attached')).to.have.length(1);
    };
    const lost = () => cloud.remove('/namespaces/shop/secrets/cloud');

    it('at SIGTERM: the teardown detaches with the value of the mount', async () => {
      await mounted();
      const node = await cloud.holder();
      await lost();
      const requests = await cloud.requestsDuring(() => cloud.world.end(node));
      expect(await cloud.existing('attached')).to.deep.equal([]);
      expect(new Set(requests.map(({ token }) => token))).to.deep.equal(
        new Set([cloud.logged('first')]),
      );
    });

    it('after kill -9: the next process detaches with the value of the mount', async () => {
      await mounted();
      const node = await cloud.holder();
      cloud.world.kill(node);
      await lost();
      await cloud.world.boot(node);
      const requests = await cloud.requestsDuring(async () => {
        await cloud.remove('/namespaces/shop/services/s');
        await cloud.detached();
      });
      expect(new Set(requests.map(({ token }) => token))).to.deep.equal(
        new Set([cloud.logged('first')]),
      );
    });

    it('a volume that was never mounted: nothing is resolved and no request is made at SIGTERM', async () => {
      await cloud.volumeIn('Available');
      await lost();
      const requests = await cloud.requestsDuring(async () => {
        await cloud.world.end('n1');
        await cloud.world.end('n2');
      });
      expect(requests).to.deep.equal([]);
      expect((await cloud.get('/namespaces/shop/volumes/v'))?.['status']).to.equal('Available');
    });

    it('class and secret are deleted first: the detach has the value of the mount, the deletion reports what it waits for', async () => {
      await mounted();
      await cloud.remove('/storageclasses/c?force=true');
      await lost();
      await cloud.remove('/namespaces/shop/services/s');
      await cloud.detached();
      await cloud.gone('/namespaces/shop/services/s');
      await cloud.remove('/namespaces/shop/volumes/v');
      await cloud.until('the reason', async () => {
        const found = await cloud.get('/namespaces/shop/volumes/v');
        return JSON.stringify(found).includes('secret shop/cloud does not exist');
      });
      expect(await cloud.existing('volume')).to.have.length(1);
      await cloud.secret('cloud', cloud.credential('second'));
      await cloud.gone('/namespaces/shop/volumes/v');
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });
  });
