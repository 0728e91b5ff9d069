import { expect } from 'chai';
import type { LoggedRequest } from '../core/requests.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { CloudWorld, tokens } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

/** Names of the tokens of requests, each once. */
function tokensOf(requests: readonly LoggedRequest[]): readonly string[] {
  return [...new Set(requests.map(({ token = 'none' }) => token))];
}

const fsType = ['fsType', 'btrfs-of-a-secret', 'xfs'] as const;
/** Parameters with a wrong and a right value. */
const parametersToCheck = {
  cloud1: [fsType],
  cloud2: [fsType],
  cloud3: [
    fsType,
    ['encrypted', 'perhaps-of-a-secret', 'true'],
    ['iops', 'many-of-a-secret', '4000'],
  ],
  cloud4: [fsType, ['diskType', 'pd-of-a-secret', 'pd-ssd']],
} as const;

const providers = half('rotated credentials', ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const);
for (const provider of providers)
  describe(`credentials of ${driverNames[provider]} that change (specification 5.3.1)`, function () {
    this.timeout(180_000);
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    const inSecret = (name: string) => cloud.parametersOf(`secret:${name}.shop.svc/token`);
    const attached = async (): Promise<void> => {
      await cloud.volume();
      await cloud.service();
      await cloud.running();
      expect(await cloud.existing('attached')).to.have.length(1);
    };
    /** Ends the service and the volume. */
    const teardown = async (): Promise<void> => {
      await cloud.remove('/namespaces/shop/services/s');
      await cloud.detached();
      await cloud.gone('/namespaces/shop/services/s');
      await cloud.remove('/namespaces/shop/volumes/v');
      await cloud.gone('/namespaces/shop/volumes/v');
      expect(await cloud.existing('volume')).to.deep.equal([]);
    };

    it('a reference: rotation between attach and detach reaches the detach and the deletion', async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      await attached();
      await cloud.secret('cloud', cloud.credential('second'));
      cloud.emulator.revokeToken(cloud.logged('first'));
      const requests = await cloud.requestsDuring(teardown);
      expect(tokensOf(requests)).to.deep.equal([cloud.logged('second')]);
    });

    it('a literal: a new one in the class replaces the captured one', async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.storageClass(cloud.literalsOf('first'));
      await attached();
      await cloud.storageClass(cloud.literalsOf('second'));
      cloud.emulator.revokeToken(cloud.logged('first'));
      const requests = await cloud.requestsDuring(teardown);
      expect(tokensOf(requests)).to.deep.equal([cloud.logged('second')]);
    });

    it('another secret in the class: no call has the token of the one before', async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('old', cloud.credential('first'));
      await cloud.secret('new', cloud.credential('second'));
      await cloud.storageClass(inSecret('old'));
      await attached();
      await cloud.storageClass(inSecret('new'));
      const requests = await cloud.requestsDuring(teardown);
      expect(tokensOf(requests)).to.deep.equal([cloud.logged('second')]);
    });

    it('a volume that waits for a right token is provisioned when the secret changes, not after its backoff', async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', 'unknown-to-the-provider');
      await cloud.storageClass();
      await cloud.volume();
      const { failureMessage } = await cloud.volumeIn('Failed');
      expect(String(failureMessage)).to.match(
        /DigitalOcean answered 401|unable to authenticate|AuthFailure|the value is not JSON/,
      );
      await cloud.secret('cloud', cloud.credential('first'));
      const began = cloud.world.clock.now();
      await cloud.volumeIn('Available');
      expect(cloud.world.clock.now() - began).to.be.at.most(20_000);
    });

    for (const [key, wrong, right] of parametersToCheck[provider])
      it(`resolved values are validated again: a wrong ${key} makes no request, and a right one heals it`, async () => {
        cloud = await CloudWorld.start(provider);
        await cloud.secret('cloud', cloud.credential('first'));
        const form = (value: string) => ({ name: 'form', data: { value } });
        await cloud.ok('POST', '/namespaces/shop/secrets', form(wrong));
        await cloud.storageClass({ ...inSecret('cloud'), [key]: 'secret:form.shop.svc/value' });
        await cloud.volume();
        const { failureMessage, reason } = await cloud.volumeIn('Failed');
        expect(reason).to.equal('InvalidParameters');
        expect(String(failureMessage)).to.contain(key).and.not.contain(wrong);
        expect(cloud.emulator.requests).to.deep.equal([]);
        await cloud.ok('PUT', '/namespaces/shop/secrets/form', form(right));
        await cloud.volumeIn('Available');
      });
  });

/** Two places of each provider, as the parameters of a class. */
const twoPlaces = {
  cloud1: [{ region: 'fra1' }, { region: 'nyc3' }],
  cloud2: [{ region: 'fsn1' }, { region: 'hel1' }],
  cloud3: [
    { region: 'eu-central-1', availabilityZone: 'eu-central-1a' },
    { region: 'eu-west-1', availabilityZone: 'eu-west-1b' },
  ],
  cloud4: [{ zone: 'europe-west3-a' }, { zone: 'us-central1-b' }],
} as const;

/** The place in which a request creates a volume; undefined for another request. */
function createdIn({ method, path, body, action }: LoggedRequest): string | undefined {
  if (action !== undefined)
    return action === 'CreateVolume'
      ? (new URLSearchParams(body).get('AvailabilityZone') ?? 'none')
      : undefined;
  if (method !== 'POST') return undefined;
  const [, zone] = /\/zones\/([^/]+)\/disks$/.exec(path) ?? [];
  if (zone !== undefined || !path.endsWith('/volumes')) return zone;
  const { region, location } = JSON.parse(body) as Readonly<Record<string, string>>;
  return region ?? location;
}

for (const provider of providers)
  describe(`several credentials of ${driverNames[provider]}`, function () {
    this.timeout(180_000);
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    it('several regions with several secrets: each volume is made with the token and in the place of its class', async () => {
      cloud = await CloudWorld.start(provider);
      const names = ['first', 'second'] as const;
      for (const [n, name] of names.entries()) {
        await cloud.secret(name, cloud.credential(name));
        const parameters = cloud.parametersOf(`secret:${name}.shop.svc/token`);
        await cloud.storageClass({ ...parameters, ...twoPlaces[provider][n] }, name);
        await cloud.volume(name, name);
      }
      for (const name of names) await cloud.volumeIn('Available', name);
      const made = cloud.emulator.requests.flatMap((request) => {
        const place = createdIn(request);
        return place === undefined ? [] : [`${request.token} ${place}`];
      });
      const wanted = names.map(
        (name, n) => `${cloud.logged(name)} ${Object.values(twoPlaces[provider][n]!).at(-1)}`,
      );
      expect(made).to.have.members(wanted);
      const requests = await cloud.requestsDuring(async () => {
        await cloud.remove('/namespaces/shop/volumes/second');
        await cloud.gone('/namespaces/shop/volumes/second');
      });
      expect(tokensOf(requests)).to.deep.equal([cloud.logged('second')]);
      expect(await cloud.existing('volume')).to.have.length(1);
    });
  });

describe('a class of cloud1-volume whose credentials are removed', function () {
  this.timeout(180_000);
  let cloud: CloudWorld;
  afterEach(() => cloud.stop());

  it('uses the token of the node, and the captured one no more', async () => {
    cloud = await CloudWorld.start('cloud1', { nodeToken: 'shop/of-the-node' });
    await cloud.secret('cloud', tokens.first);
    await cloud.secret('of-the-node', tokens.third);
    await cloud.storageClass();
    await cloud.volume();
    await cloud.service();
    await cloud.running();
    await cloud.storageClass({});
    const requests = await cloud.requestsDuring(async () => {
      await cloud.remove('/namespaces/shop/services/s');
      await cloud.detached();
      await cloud.gone('/namespaces/shop/services/s');
      await cloud.remove('/namespaces/shop/volumes/v');
      await cloud.gone('/namespaces/shop/volumes/v');
    });
    expect(tokensOf(requests)).to.deep.equal(['third']);
  });

  it('uses the secret of the legacy apiTokenSecretRef once it exists, and then its new token', async () => {
    cloud = await CloudWorld.start('cloud1');
    await cloud.storageClass({ apiTokenSecretRef: 'shop/cloud' });
    await cloud.volume();
    const { failureMessage } = await cloud.volumeIn('Failed');
    expect(failureMessage).to.contain('apiTokenSecretRef: secret shop/cloud does not exist');
    expect(cloud.emulator.requests).to.deep.equal([]);
    await cloud.secret('cloud', tokens.first);
    await cloud.volumeIn('Available');
    await cloud.secret('cloud', tokens.second);
    const requests = await cloud.requestsDuring(async () => {
      await cloud.remove('/namespaces/shop/volumes/v');
      await cloud.gone('/namespaces/shop/volumes/v');
    });
    expect(tokensOf(requests)).to.deep.equal(['second']);
  });
});

/** Providers whose machines have no credential of their own. */
for (const provider of ['cloud1', 'cloud2'] as const)
  describe(`a class of ${driverNames[provider]} whose credentials are removed, without a token of the node`, function () {
    this.timeout(180_000);
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    it('makes no call with the captured one: the volume reports that the class has none, and a new one heals it', async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', tokens.first);
      await cloud.storageClass();
      await cloud.volume();
      await cloud.service();
      await cloud.running();
      await cloud.storageClass({});
      const says = (path: string) =>
        cloud.until(`the reason in ${path}`, async () =>
          JSON.stringify(await cloud.get(`/namespaces/shop/${path}`)).includes(
            'the class has no token',
          ),
        );
      const requests = await cloud.requestsDuring(async () => {
        await cloud.remove('/namespaces/shop/services/s');
        await says('volumes/v');
      });
      expect(requests).to.deep.equal([]);
      expect(await cloud.existing('attached')).to.have.length(1);
      await cloud.storageClass();
      await cloud.detached();
      await cloud.gone('/namespaces/shop/services/s');
      await cloud.storageClass({});
      const later = await cloud.requestsDuring(async () => {
        await cloud.remove('/namespaces/shop/volumes/v');
        await says('volumes/v');
      });
      expect(later).to.deep.equal([]);
      await cloud.storageClass();
      await cloud.gone('/namespaces/shop/volumes/v');
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });
  });
