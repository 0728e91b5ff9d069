import { expect } from 'chai';
import { Cloud3 } from '../cloud3/machine.js';
import { Cloud4 } from '../cloud4/machine.js';
import { places } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';

type Json = Readonly<Record<string, unknown>>;

const zones = {
  cloud3: { n1: places.cloud3, n2: 'eu-central-1b' },
  cloud4: { n1: places.cloud4, n2: 'europe-west3-b' },
} as const;
/** The requests that create a volume. */
const isCreation = {
  cloud3: ({ action = '' }: { readonly action?: string }) => action === 'CreateVolume',
  cloud4: ({ method, path }: { readonly method: string; readonly path: string }) =>
    method === 'POST' && path.endsWith('/disks'),
} as const;

for (const provider of ['cloud3', 'cloud4'] as const)
  describe(`a zone of ${provider} without capacity or room`, function () {
    this.timeout(180_000);
    let cloud: CloudWorld;
    beforeEach(async () => {
      cloud = await CloudWorld.start(provider, { placeOf: (node) => zones[provider][node] });
      await cloud.secret('cloud', cloud.credential('first'));
    });
    afterEach(() => cloud.stop());

    const setFull = (zone: string, full: boolean): void => {
      const { machine } = cloud;
      if (machine instanceof Cloud3 || machine instanceof Cloud4) machine.setFull(zone, full);
    };
    /** A class that names no zone. */
    const anywhere = () =>
      cloud.storageClass({
        [provider === 'cloud3' ? 'availabilityZone' : 'zone']: '',
        ...cloud.parametersOf('secret:cloud.shop.svc/token'),
      });
    const zoneOf = (object: Json) => (object['topology'] as Json)['svc.io/zone'];

    it('is left for another one, where the instance runs, and nothing is left behind', async () => {
      setFull(zones[provider].n1, true);
      await anywhere();
      await cloud.volume();
      await cloud.service();
      const instance = await cloud.running();
      expect(instance['node']).to.equal('n2');
      const volume = (await cloud.get('/namespaces/shop/volumes/v')) ?? {};
      expect(zoneOf(volume)).to.equal(zones[provider].n2);
      expect(await cloud.existing('volume')).to.have.length(1);
      expect(await cloud.existing('attached')).to.have.length(1);
    });

    it('is also left by a replica that does not fit beside another one: each volume is created where its replica runs', async () => {
      await anywhere();
      await cloud.ok('POST', '/namespaces/shop/services', {
        ...{ name: 's', runtime: 'container', image: 'web', scale: 2 },
        ports: [{ name: 'http', port: 80, hostPort: 8080 }],
        volumes: [
          {
            ...{ name: 'data', mountPath: '/data' },
            claimTemplate: { storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' },
          },
        ],
      });
      await cloud.running();
      const second = await cloud.until('the second replica', async () => {
        const found = await cloud.get('/namespaces/shop/instances/s-1');
        return found?.['status'] === 'Running' && found;
      });
      const first = await cloud.get('/namespaces/shop/instances/s-0');
      expect([first?.['node'], second['node']]).to.have.members(['n1', 'n2']);
      expect(await cloud.existing('attached')).to.have.length(2);
    });

    it('is reported if the class names it, and no other one is used', async () => {
      setFull(zones[provider].n1, true);
      await cloud.storageClass();
      await cloud.volume();
      await cloud.service();
      const volume = await cloud.until('the refusal', async () => {
        const found = await cloud.get('/namespaces/shop/volumes/v');
        return found?.['reason'] === 'QuotaExceeded' && found;
      });
      expect(zoneOf(volume)).to.equal(zones[provider].n1);
      expect(await cloud.existing('volume')).to.deep.equal([]);
      setFull(zones[provider].n1, false);
      const { node } = await cloud.running();
      expect(node).to.equal('n1');
    });

    it('with no other one: each is tried once, then after the backoff, and the first to have capacity is used', async () => {
      setFull(zones[provider].n1, true);
      setFull(zones[provider].n2, true);
      await anywhere();
      await cloud.volume();
      const requests = await cloud.requestsDuring(async () => {
        await cloud.until('both refusals', async () => {
          const found = await cloud.get('/namespaces/shop/volumes/v');
          return (found?.['exhaustedTopologies'] as Json[] | undefined)?.length === 2;
        });
        await cloud.world.advance(20_000);
      });
      const creations = requests.filter(isCreation[provider]);
      expect(creations.length).to.be.within(2, 10);
      setFull(zones[provider].n2, false);
      const made = await cloud.volumeIn('Available');
      expect(zoneOf(made)).to.equal(zones[provider].n2);
      expect(await cloud.existing('volume')).to.have.length(1);
    });
  });
