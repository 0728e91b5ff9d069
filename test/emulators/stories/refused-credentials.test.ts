import { expect } from 'chai';
import { specifiedScopes } from '../cloud1/machine.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { CloudWorld, tokens } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

const words = {
  cloud1: /provider rejected credentials: DigitalOcean answered 401/,
  cloud2: /Hetzner Cloud refused \w+: unable to authenticate \(HTTP 401, unauthorized/,
  cloud3: /Amazon EBS refused \w+: .*\(HTTP 401, AuthFailure/,
  cloud4: /Google Cloud refused \w+: .*\(HTTP 401/,
} as const;

for (const provider of half('refused credentials', [
  'cloud1',
  'cloud2',
  'cloud3',
  'cloud4',
] as const))
  describe(`credentials that the provider of ${driverNames[provider]} refuses`, function () {
    this.timeout(180_000);
    let cloud: CloudWorld;
    beforeEach(async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      await cloud.volume();
      await cloud.volumeIn('Available');
    });
    afterEach(() => cloud.stop());

    const waiting = (text: RegExp) =>
      cloud.until(`the instance to say ${String(text)}`, async () => {
        const found = await cloud.get('/namespaces/shop/instances/s-0');
        return text.test(JSON.stringify(found?.['conditions'])) && found;
      });

    it('attach 401: the volume stays Available, the instance waits with the words of the driver, and a new token heals it', async () => {
      cloud.emulator.revokeToken(cloud.logged('first'));
      await cloud.service();
      const instance = await waiting(words[provider]);
      expect(instance['status']).to.equal('Pending');
      const volume = await cloud.get('/namespaces/shop/volumes/v');
      expect(volume?.['status']).to.equal('Available');
      expect(await cloud.existing('attached')).to.deep.equal([]);
      await cloud.secret('cloud', cloud.credential('second'));
      await cloud.running();
    });

    it('detach 401: the volume stays attached and reports why, and a new token detaches it', async () => {
      await cloud.service();
      await cloud.running();
      cloud.emulator.revokeToken(cloud.logged('first'));
      await cloud.remove('/namespaces/shop/services/s');
      await cloud.until('the reason', async () => {
        const found = await cloud.get('/namespaces/shop/volumes/v');
        return words[provider].test(JSON.stringify(found));
      });
      expect(await cloud.existing('attached')).to.have.length(1);
      await cloud.secret('cloud', cloud.credential('second'));
      await cloud.detached();
    });
  });

describe('actions that the token of cloud1-volume does not show', function () {
  this.timeout(180_000);
  let cloud: CloudWorld;
  beforeEach(async () => {
    cloud = await CloudWorld.start('cloud1', { actionMs: 20_000 });
    const scopes = specifiedScopes.filter((scope) => scope !== 'actions:read');
    cloud.emulator.addToken({ name: 'first', secret: tokens.first, scopes });
    await cloud.secret('cloud', tokens.first);
    await cloud.storageClass();
    await cloud.volume();
    await cloud.volumeIn('Available');
  });
  afterEach(() => cloud.stop());

  it('make the volume Stalled with the missing scope, and a new token heals it without a second attach', async () => {
    await cloud.service();
    const stalled = await cloud.volumeIn('Stalled');
    expect(JSON.stringify(stalled)).to.contain('getAction needs scope actions:read');
    await cloud.secret('cloud', tokens.second);
    await cloud.running();
    await cloud.volumeIn('Bound');
    const attaches = cloud.emulator.requests.filter(
      ({ method, path }) => method === 'POST' && path.endsWith('/actions'),
    );
    expect(attaches).to.have.length(1);
  });
});
