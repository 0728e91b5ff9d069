import { expect } from 'chai';
import { makeServiceAccount } from '../cloud4/service-account.js';
import type { Token } from '../core/machine.js';
import { actionOf, type WireRequest } from '../core/wire.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

const kinds = {
  cloud1: ['volume', 'snapshot'],
  cloud2: ['volume'],
  cloud3: ['volume', 'snapshot'],
  cloud4: ['volume', 'snapshot'],
} as const;

const annotation = 'svc.io/abandon-deletion';
/** A key that the provider does not know any more. */
const closedAccount = makeServiceAccount('sa-closed', { permissions: [] }).credentialsJSON;

for (const provider of half('deletions that can be abandoned', [
  'cloud1',
  'cloud2',
  'cloud3',
  'cloud4',
] as const))
  for (const kind of kinds[provider])
    describe(`the deletion of a ${kind} of ${driverNames[provider]} whose end can never be read`, function () {
      this.timeout(180_000);
      let cloud: CloudWorld;
      let token: Token;
      const path = `/namespaces/shop/${kind}s/${kind === 'volume' ? 'v' : 's'}`;
      beforeEach(async () => {
        // A deletion takes longer than the rights last.
        cloud = await CloudWorld.start(provider, { actionMs: 20_000 });
        const found = cloud.tokens.find(({ name }) => name === cloud.logged('first'));
        if (!found) throw new TypeError('no token');
        const { scopes = [] } = found;
        const copying = 'compute.disks.createSnapshot';
        token = provider === 'cloud4' ? { ...found, scopes: [...scopes, copying] } : found;
        cloud.emulator.addToken(token);
        await cloud.secret('cloud', cloud.credential('first'));
        await cloud.storageClass();
        await cloud.volume();
        await cloud.volumeIn('Available');
        if (kind === 'volume') return;
        await cloud.ok('POST', '/namespaces/shop/snapshots', {
          name: 's',
          source: { volume: 'v' },
        });
        await cloud.until(
          'the snapshot',
          async () => (await cloud.get(path))?.['status'] === 'Ready',
        );
      });
      afterEach(() => cloud.stop());

      /**
       * The credential loses all rights. A token of cloud2 without rights can still read, so an unknown one replaces
       * it.
       */
      const revoke = async (): Promise<void> => {
        if (provider === 'cloud2') await cloud.secret('cloud', 'revoked');
        else cloud.emulator.addToken({ ...token, scopes: [] });
      };
      const isDeletion = (request: WireRequest): boolean =>
        request.method === 'DELETE' || actionOf(request)?.startsWith('Delete') === true;
      const annotate = async (value: unknown): Promise<void> => {
        const found = await cloud.get(path);
        const { metadata } = found as { readonly metadata: object };
        const annotations = { [annotation]: value };
        await cloud.ok('PUT', path, { ...found, metadata: { ...metadata, annotations } });
      };
      const uid = async (): Promise<unknown> =>
        ((await cloud.get(path))?.['metadata'] as { readonly uid: string }).uid;
      const pass = async (): Promise<void> => {
        for (let step = 0; step < 120; step += 1) await cloud.world.advance(10_000);
      };
      const reasons = [
        'PermissionDenied',
        'CredentialsRejected',
        'InvalidParameters',
        'Unavailable',
        'Timeout',
      ];
      /**
       * Deletes the object, and then nothing can be read.
       * @param isLost whether the answer of the executed deletion is lost, so that its operation is not known
       */
      const unreadable = async (end: () => Promise<void>, isLost = true): Promise<void> => {
        if (isLost) cloud.emulator.faults.add({ on: isDeletion, fault: { type: 'lostReply' } });
        await cloud.remove(path);
        const asked = async (): Promise<boolean> => {
          const { call, outcome } = ((await cloud.get(path))?.['lastOperation'] ?? {}) as {
            readonly call?: string;
            readonly outcome?: string;
          };
          return call?.startsWith('delete') === true && outcome !== 'Started';
        };
        await cloud.until('the deletion', asked);
        await end();
        await pass();
        const found = await cloud.get(path);
        expect(reasons, JSON.stringify(found)).to.include(found?.['reason']);
      };
      /** Sets the policy `retain`. Returns whether the deletion goes on, so that only the annotation ends it. */
      const isLocked = async (): Promise<boolean> => {
        const retained = { ...(await cloud.get(path)), reclaimPolicy: 'retain' };
        const { status, body } = await cloud.rest('PUT', path, retained);
        if (status !== 200) expect(JSON.stringify(body)).to.contain('DataDeletionBegun');
        await pass();
        return (await cloud.get(path)) !== undefined;
      };
      const ends = async (mustBeLocked: boolean): Promise<void> => {
        const locked = await isLocked();
        if (mustBeLocked) expect(locked).to.equal(true);
        if (!locked) return;
        await annotate('another uid');
        await pass();
        expect(await cloud.get(path)).to.not.equal(undefined);
        await annotate(await uid());
        await cloud.gone(path);
      };

      it('for missing rights: an annotation, or retain where nothing is recorded, removes the object', async () => {
        await unreadable(revoke);
        await ends(provider === 'cloud4');
      });

      if (provider === 'cloud4')
        for (const [what, end] of [
          ['a right is gone', revoke],
          ['the account is closed', (): Promise<void> => cloud.secret('cloud', closedAccount)],
        ] as const)
          it(`once ${what}, and the operation is known: an annotation removes the object`, async () => {
            await unreadable(end, false);
            expect(await cloud.get(path)).to.include({ reason: 'Timeout' });
            await ends(true);
          });

      it('goes on if the right returns, also with the annotation of another object', async () => {
        await unreadable(revoke);
        await annotate('another uid');
        cloud.emulator.addToken(token);
        await cloud.secret('cloud', cloud.credential('first'));
        await cloud.gone(path);
        expect(await cloud.existing(kind)).to.deep.equal([]);
      });

      it('without a credential: the same removes the object', async () => {
        await unreadable(() => cloud.storageClass({}));
        await ends(kind === 'volume' || provider === 'cloud4');
      });
    });
