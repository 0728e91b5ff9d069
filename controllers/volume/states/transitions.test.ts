import { expect } from 'chai';
import { hasCode, removeFinalizer } from 'kedge';
import { settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { abandonAnnotation } from '../../messages/abandoned-deletion.js';
import { type Volume, volumes } from '../kind.js';
import { testRows } from '../../testing/row-tests.js';
import { instanceOf, type StorageWorld } from '../../testing/storage-world.js';
import { volumeFinalizer } from '../admission.js';
import { rearm } from '../reconcile/controller.js';
import { deleteUnused } from '../rules/in-use.js';
import { nextPhase, transitions } from './phases.js';

const key = { namespace: 'default', name: 'v' };
const mount = { name: 'd', mountPath: '/d', claim: { name: 'v' } };
const withToken = { parameters: { token: 'secret:token/key' } };
const hour = 3_600_000;
const instance = instanceOf('i-0');

const volume = async (world: StorageWorld): Promise<Volume> => (await world.volume())!;
const ensure = (world: StorageWorld) => world.volumeManager.ensure(instance, mount);
const letGo = (world: StorageWorld) =>
  world.volumeManager.releaseAll('default/i-0').catch(() => undefined);
const count = (world: StorageWorld, call: string): number =>
  world.driver.calls.filter((one) => one === call).length;

async function failing(world: StorageWorld, on: StorageWorld['driver']['failsOn']): Promise<void> {
  world.driver.failsOn = on;
  await world.createVolume();
}

async function bound(world: StorageWorld): Promise<void> {
  await world.createVolume();
  expect((await ensure(world)).type).to.equal('mounted');
}

async function released(world: StorageWorld, reclaimPolicy: 'retain' | 'delete'): Promise<void> {
  await world.createService('s');
  await world.createVolume({ ownerService: 'default/s', reclaimPolicy });
  await world.deleteService('s');
}

async function lost(world: StorageWorld): Promise<void> {
  world.driver.failsOn = { observe: 'NotFound' };
  await world.clock.advance(2 * hour);
  expect(await volume(world)).to.include({ status: 'Failed', reason: 'VolumeLost', handle: 'h' });
}

async function change(world: StorageWorld, fields: Partial<Volume>): Promise<void> {
  await world.store.update(volumes, { ...(await volume(world)), ...fields });
  await settle();
}

describe('transitions of a volume', () => {
  testRows(volumes, transitions, {
    'V1 None created': async (world) => {
      await world.createVolume({ source: { snapshot: 'none' } });
      expect(await volume(world)).to.include({ attempts: 0 });
    },
    'V2 Pending waits': async (world) => {
      await world.createVolume({ source: { snapshot: 'none' } });
      await world.clock.advance(hour);
      expect(await volume(world)).to.include({ reason: 'SnapshotNotReady' });
      expect(world.driver.calls).to.deep.equal([]);
    },
    'V3 Pending resolved': async (world) => {
      await failing(world, { provision: 'Unavailable' });
      expect(await volume(world)).to.include({ driver: 'played' });
    },
    'V4 Pending failedForGood': async (world) => {
      await world.createVolume(withToken);
      expect((await volume(world)).failureMessage).to.contain('InvalidParameters');
      expect(world.driver.calls).to.deep.equal([]);
    },
    'V4 Provisioning failedForGood': (world) => failing(world, { provision: 'PermissionDenied' }),
    'V4 Failed failedForGood': async (world) => {
      await world.createVolume(withToken);
      await rearm(world.store, await volume(world));
      expect(await volume(world)).to.include({ attempts: 0 });
      await settle();
      expect(await volume(world)).to.include({ attempts: 1, reason: 'InvalidParameters' });
    },
    'V5 Provisioning failedForNow': async (world) => {
      await failing(world, { provision: 'Unavailable' });
      await world.clock.advance(10_000);
      expect((await volume(world)).attempts).to.be.within(2, 5);
      expect(await volume(world)).to.include({ failureMessage: '' });
    },
    'V6 Provisioning provisioned': async (world) => {
      await world.createVolume();
      expect(await volume(world)).to.include({ handle: 'h', sizeBytes: '1073741824' });
    },
    'V7 Provisioning attemptsSpent': async (world) => {
      await failing(world, { provision: 'Unavailable' });
      await world.clock.advance(hour);
      expect((await volume(world)).failureMessage).to.match(/^call \d+$/);
    },
    'V8 Provisioning outcomeUnknown': (world) =>
      failing(world, { provision: 'Timeout', observe: 'Unavailable' }),
    'V9 Provisioning deletionRequested': async (world) => {
      world.driver.slow = { provision: 3 };
      await world.createVolume();
      await world.deleteVolume();
      expect((await volume(world)).metadata.deletionRequestedAt).to.be.a('string');
      expect(count(world, 'delete')).to.equal(0);
    },
    'V10 Failed rearmed': async (world) => {
      await failing(world, { provision: 'PermissionDenied' });
      world.driver.failsOn = {};
      await rearm(world.store, await volume(world));
    },
    'V11 Available bound': async (world) => {
      await bound(world);
      expect(await volume(world)).to.include({ boundClaim: 'default/i-0', boundNode: 'n' });
    },
    'V12 Available attachRejected': async (world) => {
      await failing(world, { attach: 'PermissionDenied' });
      for (let tries = 1; tries <= 3; tries += 1) {
        const outcome = await ensure(world);
        expect(outcome).to.include({ type: 'waiting', reason: 'PermissionDenied', retry: true });
        expect(count(world, 'attach')).to.equal(tries);
      }
    },
    'V13 Available attachUnknown': async (world) => {
      await failing(world, { attach: 'Timeout' });
      await ensure(world);
      expect((await volume(world)).attachments).to.have.length(1);
    },
    'V14 Bound bound': async (world) => {
      await bound(world);
      await world.restart();
      expect((await ensure(world)).type).to.equal('mounted');
      expect((await volume(world)).attachments).to.have.length(1);
      expect(count(world, 'detach')).to.equal(0);
    },
    'V15 Bound unbound': async (world) => {
      await bound(world);
      await letGo(world);
      expect(await volume(world)).to.include({ boundClaim: '', boundNode: '' });
    },
    'V17 Bound tearDownFailed': async (world) => {
      await bound(world);
      world.driver.failsOn = { detach: 'InUse' };
      const over = world.volumeManager.tearDown(1_000, new Set());
      await world.clock.advance(60_000);
      await over;
      expect(await volume(world)).to.include({ boundClaim: 'default/i-0', boundNode: 'n' });
      await world.restart();
      expect((await ensure(world)).type).to.equal('mounted');
    },
    'V18 Bound detachUnknown': async (world) => {
      await bound(world);
      world.driver.failsOn = { detach: 'Timeout' };
      await letGo(world);
      expect(await volume(world)).to.include({ boundNode: 'n' });
    },
    'V19 Bound nodeLost': async (world) => {
      await world.store.create(nodes, { name: 'far' });
      await bound(world);
      const far = { claim: 'default/far-0', node: 'far', state: 'Attached' } as const;
      const holder = { attachments: [far], boundClaim: far.claim, boundNode: far.node };
      await world.store.updateStatus(volumes, key, holder);
      await world.clock.advance(2 * hour);
      expect((await volume(world)).attachments).to.deep.equal([far]);
      expect(count(world, 'detach')).to.equal(0);
    },
    'V20 Stalled provisioned': async (world) => {
      await failing(world, { provision: 'Timeout', observe: 'Unavailable' });
      world.driver.failsOn = {};
      await world.clock.advance(10 * 60_000);
      expect(count(world, 'provision')).to.equal(1);
    },
    'V20 Stalled bound': async (world) => {
      await failing(world, { attach: 'Timeout' });
      await ensure(world);
      world.driver.failsOn = {};
      await ensure(world);
    },
    'V20 Stalled unbound': async (world) => {
      await bound(world);
      world.driver.failsOn = { detach: 'Timeout' };
      await letGo(world);
      world.driver.failsOn = {};
      await letGo(world);
    },
    'V21 Stalled observedAbsent': async (world) => {
      await failing(world, { provision: 'Timeout', observe: 'NotFound' });
      world.driver.failsOn = { observe: 'NotFound' };
      await world.clock.advance(10 * 60_000);
      expect(count(world, 'provision')).to.equal(2);
    },
    'V22 Available ownerGone': (world) => released(world, 'retain'),
    'V22 Failed ownerGone': async (world) => {
      await world.createService('s');
      await world.createVolume({ ownerService: 'default/s', reclaimPolicy: 'retain' });
      await lost(world);
      await world.deleteService('s');
    },
    'V22 Pending forgotten': async (world) => {
      await world.createVolume({ source: { snapshot: 'none' } });
      await world.deleteVolume();
      expect(world.driver.calls).to.deep.equal([]);
    },
    'V23 Released deleted': async (world) => {
      await released(world, 'delete');
      await world.clock.advance(1_000);
      expect(world.driver.made.size).to.equal(0);
    },
    'V23 Available deleted': async (world) => {
      await world.createVolume();
      await world.deleteVolume();
      expect(world.driver.made.size).to.equal(0);
    },
    'V23 Failed deleted': async (world) => {
      await failing(world, { provision: 'PermissionDenied' });
      await world.deleteVolume();
      expect(count(world, 'delete'), 'what an attempt may have created').to.equal(1);
    },
    'V24 Released deleteFailed': async (world) => {
      world.driver.failsOn = { delete: 'PermissionDenied' };
      await released(world, 'delete');
      expect(await volume(world)).to.include({ handle: 'h' });
    },
    'V24 Available deleteFailed': async (world) => {
      await failing(world, { delete: 'PermissionDenied' });
      await world.deleteVolume();
      expect(await volume(world)).to.include({ handle: 'h' });
    },
    'V24 Failed deleteFailed': async (world) => {
      await failing(world, { delete: 'PermissionDenied' });
      await world.deleteVolume();
      const { failureMessage } = await volume(world);
      await world.clock.advance(10 * 60_000);
      expect(count(world, 'delete')).to.be.within(3, 20);
      expect((await volume(world)).failureMessage)
        .to.match(/^call/)
        .and.not.equal(failureMessage);
    },
    'V25 Released forgotten': async (world) => {
      await released(world, 'retain');
      await world.deleteVolume();
      expect(world.driver.made.size, 'its data').to.equal(1);
    },
    'V25 Available forgotten': async (world) => {
      await world.createVolume({ reclaimPolicy: 'retain' });
      await world.deleteVolume();
      expect(world.driver.made.size, 'its data').to.equal(1);
    },
    'V25 Failed forgotten': async (world) => {
      await world.createVolume(withToken);
      await world.deleteVolume();
      expect(world.driver.calls).to.deep.equal([]);
    },
    'V26 Released ownerBack': async (world) => {
      await released(world, 'retain');
      await world.createService('s');
      expect(count(world, 'provision')).to.equal(1);
    },
    'V27 Available lost': async (world) => {
      await world.createVolume();
      await lost(world);
    },
    'V27 Bound lost': async (world) => {
      await bound(world);
      await lost(world);
    },
    'V27 Failed found': async (world) => {
      await world.createVolume();
      await lost(world);
      world.driver.failsOn = {};
      await world.clock.advance(hour);
      expect(count(world, 'provision')).to.equal(1);
    },
    'V27 Failed foundAttached': async (world) => {
      await bound(world);
      await lost(world);
      world.driver.failsOn = {};
      await world.clock.advance(hour);
    },
    'V28 Bound deletionRefused': async (world) => {
      await bound(world);
      const obstacle = await deleteUnused(world.store, await volume(world));
      expect(obstacle).to.contain('is bound to default/i-0; delete the service or scale it down');
      expect((await volume(world)).metadata.deletionRequestedAt).to.equal(undefined);
    },
    'V29 Stalled deletionRequested': async (world) => {
      await failing(world, { provision: 'Timeout', observe: 'Unavailable' });
      await world.deleteVolume();
      await world.clock.advance(10 * 60_000);
      expect(count(world, 'delete')).to.equal(0);
      const byHand = await removeFinalizer(
        world.store,
        volumes,
        await volume(world),
        volumeFinalizer,
      ).catch((error: unknown) => error);
      expect(hasCode(byHand, 'FailedPrecondition') && byHand.message).to.contain(
        "can't be removed while its status is Stalled",
      );
    },
    'V30 Available resized': async (world) => {
      await world.createVolume();
      await change(world, { size: '2Gi' });
      expect(await volume(world)).to.include({ sizeBytes: String(2 * 1024 ** 3) });
    },
    'V30 Bound resized': async (world) => {
      await bound(world);
      await change(world, { size: '2Gi' });
      expect(await volume(world)).to.include({ sizeBytes: String(2 * 1024 ** 3) });
    },
    'V31 Released policyEdited': async (world) => {
      const keeps = { name: 'k', driver: 'played', reclaimPolicy: 'retain' } as const;
      await world.store.create(storageClasses, keeps);
      await world.createService('s');
      await world.createVolume({ ownerService: 'default/s', storageClassName: 'k' });
      await world.deleteService('s');
      await change(world, { reclaimPolicy: 'retain', labels: { kept: 'yes' } });
      await world.clock.advance(hour);
      expect(world.driver.made.size, 'its data').to.equal(1);
    },
    'V32 Pending imported': async (world) => {
      const fields = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
      const made = { driver: 'played', handle: 'h', importedAs: 'mine', formatted: true };
      const metadata = { finalizers: [volumeFinalizer] };
      const sizeBytes = String(1024 ** 3);
      // An import is one transaction; without it, only a missing snapshot keeps a volume in Pending.
      const source = { snapshot: 'none' };
      await world.store.create(volumes, {
        ...key,
        ...fields,
        ...made,
        source,
        sizeBytes,
        metadata,
      });
      await settle();
      const status = { status: nextPhase('Pending', 'imported') };
      await world.store.updateStatus(volumes, key, status);
      await settle();
      expect(world.driver.calls, 'nothing is provisioned').to.not.include('provision');
      expect((await ensure(world)).type).to.equal('mounted');
    },
    'V33 Stalled abandoned': async (world) => {
      world.driver.failsWith = 'no such key';
      await failing(world, { provision: 'Timeout', observe: 'CredentialsRejected' });
      await world.deleteVolume();
      const { metadata } = await volume(world);
      const annotations = { [abandonAnnotation]: metadata.uid };
      await change(world, { metadata: { ...metadata, annotations } });
      await world.clock.advance(hour);
      expect(await world.volume()).to.equal(undefined);
      expect(count(world, 'delete')).to.equal(1);
    },
  });
});
