import { expect } from 'chai';
import { specifiedScopes } from '../cloud1/machine.js';
import { specifiedPermissions as keyPermissions } from '../cloud3/machine.js';
import { specifiedPermissions as accountPermissions } from '../cloud4/service-account.js';
import { actionOf, type WireRequest } from '../core/wire.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

/** The permissions of a service account that copies disks. */
const copying = [...accountPermissions, 'compute.disks.createSnapshot'];

/** The rights of each provider without those to delete. */
const rights = {
  cloud1: specifiedScopes.filter((scope) => !scope.endsWith(':delete')),
  cloud2: ['read'],
  cloud3: keyPermissions.filter((permission) => !permission.startsWith('ec2:Delete')),
  cloud4: copying.filter((permission) => !permission.endsWith('.delete')),
} as const;

const kinds = {
  cloud1: ['volume', 'snapshot'],
  cloud2: ['volume'],
  cloud3: ['volume', 'snapshot'],
  cloud4: ['volume', 'snapshot'],
} as const;

/** Providers whose nodes may have a credential without a parameter. */
const ofNodes: readonly string[] = ['cloud3', 'cloud4'];

for (const provider of half('deletions without permission', [
  'cloud1',
  'cloud2',
  'cloud3',
  'cloud4',
] as const))
  for (const kind of kinds[provider])
    describe(`the deletion of a ${kind} of ${driverNames[provider]} that can never be made`, function () {
      this.timeout(180_000);
      let cloud: CloudWorld;
      const path = `/namespaces/shop/${kind}s/${kind === 'volume' ? 'v' : 's'}`;
      beforeEach(async () => {
        cloud = await CloudWorld.start(provider);
        if (provider === 'cloud4') grant(copying);
        await cloud.secret('cloud', cloud.credential('first'));
        await cloud.storageClass();
        await cloud.volume();
        await cloud.volumeIn('Available');
        if (kind === 'volume') return;
        const snapshot = { name: 's', source: { volume: 'v' } };
        await cloud.ok('POST', '/namespaces/shop/snapshots', snapshot);
        await cloud.until('the snapshot', async () => {
          const found = await cloud.get(path);
          return found?.['status'] === 'Ready';
        });
      });
      afterEach(() => cloud.stop());

      const grant = (scopes: readonly string[]): void => {
        const token = cloud.tokens.find(({ name }) => name === cloud.logged('first'));
        if (!token) throw new TypeError('no token');
        cloud.emulator.addToken({ ...token, scopes });
      };
      const deny = (): void => grant(rights[provider]);
      const reasonOf = async (): Promise<string> => String((await cloud.get(path))?.['reason']);
      /** Deletes the object, and waits until its deletion has failed several times for a reason. */
      const refused = async (...reasons: readonly string[]): Promise<void> => {
        await cloud.remove(path);
        await cloud.until('the refusal', async () => reasons.includes(await reasonOf()));
        for (let step = 0; step < 120; step += 1) await cloud.world.advance(10_000);
        expect(reasons).to.include(await reasonOf());
      };
      /** The policy is changed: the object is removed, and the resource stays at the provider. */
      const retained = async (): Promise<void> => {
        await cloud.ok('PUT', path, { ...(await cloud.get(path)), reclaimPolicy: 'retain' });
        await cloud.gone(path);
        expect(await cloud.existing(kind)).to.have.length(1);
      };

      it('for a missing right: the policy retain ends it, and the resource stays', async () => {
        deny();
        await refused('PermissionDenied', 'CredentialsRejected');
        await retained();
      });

      it('for a missing right, after a deletion without an answer: retain ends it too', async () => {
        const on = (request: WireRequest): boolean =>
          request.method === 'DELETE' || actionOf(request)?.startsWith('Delete') === true;
        cloud.emulator.faults.add({ on, fault: { type: 'before' } });
        await cloud.remove(path);
        await cloud.until('the lost answer', async () => {
          const found = await cloud.get(path);
          return found?.['reason'] === 'Unavailable' || found?.['reason'] === 'Timeout';
        });
        deny();
        await refused('PermissionDenied', 'CredentialsRejected');
        await retained();
      });

      if (ofNodes.includes(provider))
        it('without a credential: retain ends it too', async () => {
          await cloud.storageClass({});
          await refused('Unavailable', 'CredentialsRejected');
          await retained();
        });
    });

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`a volume of ${driverNames[provider]} in a class with the policy retain, whose credential is rejected`, function () {
    this.timeout(180_000);
    const path = '/namespaces/shop/volumes/v';

    it('is removed once retain is its own policy, although that of its class is the same', async () => {
      const cloud = await CloudWorld.start(provider);
      try {
        await cloud.secret('cloud', cloud.credential('first'));
        await cloud.storageClass();
        const found = await cloud.get('/storageclasses/c');
        await cloud.ok('PUT', '/storageclasses/c', { ...found, reclaimPolicy: 'retain' });
        const token = cloud.tokens.find(({ name }) => name === cloud.logged('first'));
        if (!token) throw new TypeError('no token');
        cloud.emulator.addToken({ ...token, scopes: provider === 'cloud2' ? ['read'] : [] });
        await cloud.volume();
        await cloud.volumeIn('Failed');
        expect((await cloud.get(path))?.['reclaimPolicy']).to.equal('retain');
        // A token of cloud2 without rights can read.
        if (provider === 'cloud2') await cloud.secret('cloud', 'revoked');
        await cloud.remove(path);
        for (let step = 0; step < 120; step += 1) await cloud.world.advance(10_000);
        const refused = await cloud.get(path);
        expect(refused).to.include({ effectiveReclaimPolicy: 'retain' });
        expect(refused).to.not.have.property('reclaimPolicy');
        // Writing back what was read changes nothing.
        await cloud.ok('PUT', path, refused);
        for (let step = 0; step < 6; step += 1) await cloud.world.advance(10_000);
        expect(await cloud.get(path)).to.not.equal(undefined);
        await cloud.ok('PUT', path, { ...(await cloud.get(path)), reclaimPolicy: 'retain' });
        await cloud.gone(path);
        expect(await cloud.existing('volume')).to.deep.equal([]);
      } finally {
        await cloud.stop();
      }
    });
  });
