import { expect } from 'chai';
import type { Volume } from '@kedge/api/kinds';
import { emptyWorld, explain } from '@kedge/controllers/cause';
import { places } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

/** The parameter of the place of each provider. */
const parameters = {
  cloud1: 'region',
  // The alias.
  cloud2: 'region',
  cloud3: 'availabilityZone',
  cloud4: 'zone',
} as const;

for (const provider of half('unknown places', ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const))
  describe(`a volume of ${provider} whose place does not exist`, function () {
    this.timeout(60_000);
    const key = parameters[provider];
    const unknown = `${places[provider].slice(0, -1)}9`;
    let cloud: CloudWorld;
    beforeEach(async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', cloud.credential('first'));
    });
    afterEach(() => cloud.stop());

    /** The remedy of the volume once it has failed. */
    async function remedy(): Promise<string> {
      const object = await cloud.volumeIn('Failed');
      expect(object).to.include({ reason: 'InvalidParameters' });
      expect(object['failureMessage']).to.contain(`set parameter ${key} to `);
      const subject = { kind: 'Volume', object: object as unknown as Volume } as const;
      return explain(subject, emptyWorld)?.remedy?.command ?? 'none';
    }

    it('is corrected at the class if the class gives it, and provisioned then', async () => {
      await cloud.storageClass({ ...cloud.reference(), [key]: unknown });
      await cloud.ok('POST', '/namespaces/shop/volumes', {
        ...{ name: 'v', storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' },
        parameters: { fsType: 'xfs' },
      });
      expect(await remedy()).to.equal('kedge edit storageclass/c');
      await cloud.storageClass();
      await cloud.volumeIn('Available');
    });

    it('is corrected at the volume if the volume gives it, and provisioned then', async () => {
      await cloud.storageClass();
      const path = '/namespaces/shop/volumes';
      await cloud.ok('POST', path, {
        ...{ name: 'v', storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' },
        parameters: { [key]: unknown },
      });
      expect(await remedy()).to.equal('kedge edit volume/v -n shop');
      const stored = await cloud.ok('GET', `${path}/v`);
      await cloud.ok('PUT', `${path}/v`, { ...stored, parameters: { [key]: places[provider] } });
      await cloud.volumeIn('Available');
    });
  });
