import { expect } from 'chai';
import { TransportError } from '@kedge/driver-sdk/provider';
import { CloudWorld } from './cloud-world.js';

const misspelled = 'eu-centrall-1';

describe('a class of cloud3-block whose region is misspelled, so that no host has its name', function () {
  this.timeout(60_000);
  let cloud: CloudWorld;
  beforeEach(async () => {
    cloud = await CloudWorld.start('cloud3', {
      transport: (inner) => (request) =>
        request.url.host.includes(misspelled)
          ? Promise.reject(new TransportError('ENOTFOUND', false))
          : inner(request),
    });
    await cloud.secret('cloud', cloud.credential('first'));
    await cloud.storageClass({
      ...cloud.reference(),
      ...{ region: misspelled, availabilityZone: `${misspelled}a` },
    });
    await cloud.volume();
    await cloud.until('the failure', async () => {
      const found = await cloud.get('/namespaces/shop/volumes/v');
      return found?.['reason'] === 'Unavailable';
    });
  });
  afterEach(() => cloud.stop());

  it('once corrected, its volume becomes Available', async () => {
    await cloud.storageClass();
    await cloud.volumeIn('Available');
    expect(await cloud.existing('volume')).to.have.length(1);
  });

  it('its volume can be deleted', async () => {
    await cloud.remove('/namespaces/shop/volumes/v');
    await cloud.gone('/namespaces/shop/volumes/v');
  });
});
