import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { type Volume, volumes } from '../../volume/kind.js';
import { instanceOf, StorageWorld } from '../../testing/storage-world.js';

const mount = { name: 'd', mountPath: '/d', claim: { name: 'v' } };
const key = { namespace: 'default', name: 'v' };
const claim = 'default/s';

describe('a volume that is deleted while the node that lost it still has it attached', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.createVolume();
    const outcome = await world.volumeManager.ensure(instanceOf('s'), mount);
    expect(outcome.type).to.equal('mounted');
  });
  afterEach(() => world.stop());

  /** Force-detaches the volume, like `detach --force`, and deletes it. */
  async function takeAndDelete(): Promise<Volume | undefined> {
    const taken = { status: 'Available' as const, attachments: [], boundClaim: '', boundNode: '' };
    await world.store.updateStatus(volumes, key, taken);
    const before = await world.volume();
    await world.deleteVolume();
    expect(await world.volume()).to.equal(undefined);
    world.driver.calls.length = 0;
    return before;
  }

  it('is unmounted and detached when its claim is released', async () => {
    await takeAndDelete();
    await world.volumeManager.releaseAll(claim);
    expect(world.driver.calls).to.deep.equal(['unmount', 'detach']);
    expect(world.volumeManager.holdsHere(claim)).to.equal(false);
  });

  it('is unmounted and detached also if it was recreated, and the new one is unchanged', async () => {
    await takeAndDelete();
    await world.createVolume();
    world.driver.calls.length = 0;
    const made = await world.volume();
    await world.volumeManager.releaseAll(claim);
    expect(world.driver.calls).to.deep.equal(['unmount', 'detach']);
    expect(await world.volume()).to.deep.equal(made);
  });

  it('is held until the driver has detached it', async () => {
    await takeAndDelete();
    world.driver.failsOn = { detach: 'Unavailable' };
    const refused = await world.volumeManager.releaseAll(claim).catch((e: unknown) => e);
    expect(String(refused)).to.contain('call 2');
    expect(world.volumeManager.holdsHere(claim)).to.equal(true);
    world.driver.failsOn = {};
    await world.volumeManager.releaseAll(claim);
    expect(world.volumeManager.holdsHere(claim)).to.equal(false);
  });

  it('keeps the device for a recreated volume with the same storage that is attached', async () => {
    const before = await takeAndDelete();
    await world.createVolume();
    await world.store.updateStatus(volumes, key, { handle: before?.handle ?? '' });
    await settle();
    const outcome = await world.volumeManager.ensure(instanceOf('other'), mount);
    expect(outcome.type).to.equal('mounted');
    world.driver.calls.length = 0;
    await world.volumeManager.releaseAll(claim);
    expect(world.driver.calls).to.deep.equal(['unmount']);
    expect((await world.volume())?.attachments?.[0]).to.include({ claim: 'default/other' });
  });
});
