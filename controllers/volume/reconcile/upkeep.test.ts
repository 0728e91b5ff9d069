import { expect } from 'chai';
import { findCondition } from 'kedge';
import { settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { type Attachment, type Volume, volumes } from '../kind.js';
import { problemOfStorage } from '../../cause/index.js';
import { StorageWorld } from '../../testing/storage-world.js';

const key = { namespace: 'default', name: 'v' };

describe('a volume that is provisioned', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');

  it('V27: is not lost by an early second miss, regardless of the trigger', async () => {
    await world.createVolume();
    world.driver.failsOn = { observe: 'NotFound' };
    while (!world.driver.calls.includes('observe')) await world.clock.advance(10_000);
    const { length: looks } = world.driver.calls;
    for (let second = 0; second < 10; second += 1) {
      await world.store.update(volumes, { ...(await volume()), labels: { at: String(second) } });
      await world.clock.advance(1_000);
    }
    expect(world.driver.calls.length, 'it was probed again').to.be.greaterThan(looks);
    expect((await volume()).status).to.equal('Available');
    await world.clock.advance(31_000);
    expect(await volume()).to.include({ status: 'Failed', reason: 'VolumeLost' });
    expect(findCondition((await volume()).conditions, 'Verified')).to.equal(undefined);
  });

  it('is probed in the background, except after a miss', async () => {
    await world.createVolume();
    world.driver.failsOn = { observe: 'NotFound' };
    while (!world.driver.calls.includes('observe')) await world.clock.advance(10_000);
    await world.clock.advance(31_000);
    expect((await volume()).status).to.equal('Failed');
    expect(world.driver.observed.slice(0, 2)).to.deep.equal([true, false]);
  });

  it('is observed before others while the outcome of its creation is unknown', async () => {
    world.driver.failsOn = { provision: 'Timeout' };
    await world.createVolume();
    await world.clock.advance(60_000);
    expect(world.driver.observed.length).to.be.greaterThan(0);
    expect(world.driver.observed).to.not.include(true);
  });

  it('V27: reports the first miss and when the second probe decides, and nothing once it is found', async () => {
    await world.createVolume();
    world.driver.failsOn = { observe: 'NotFound' };
    while (!world.driver.calls.includes('observe')) await world.clock.advance(10_000);
    expect(problemOfStorage(await volume())).to.deep.include({ reason: 'VolumeMissing' });
    expect(problemOfStorage(await volume())?.message).to.match(
      /^a probe did not find the volume at its provider: .+; it is lost if a second one at \S+Z does not find it either$/,
    );
    world.driver.failsOn = {};
    await world.clock.advance(31_000);
    expect((await volume()).status).to.equal('Available');
    expect(problemOfStorage(await volume())).to.equal(undefined);
  });

  it('V19: stays attached to a node when one of two claims there is force-detached', async () => {
    await world.createVolume({ accessMode: 'ReadOnlyMany' });
    const held = (claim: string, state: Attachment['state']): Attachment => ({
      claim: `default/${claim}`,
      node: 'n',
      state,
    });
    await world.store.updateStatus(volumes, key, {
      status: 'Bound',
      boundClaim: 'default/i-0',
      boundNode: 'n',
      attachments: [held('i-0', 'Attached'), held('i-1', 'Attached')],
    });
    await settle();
    await world.store.updateStatus(volumes, key, {
      attachments: [held('i-0', 'Detaching'), held('i-1', 'Attached')],
    });
    await world.clock.advance(10_000);
    expect(await volume()).to.deep.include({
      status: 'Bound',
      boundClaim: 'default/i-1',
      attachments: [held('i-1', 'Attached')],
    });
    expect(world.driver.calls).to.not.include('detach');
  });

  for (const there of ['Attached', 'Reserved'] as const)
    it(`V19: is detached from one of two nodes by force, and stays ${there} on the other`, async () => {
      await world.createVolume({ accessMode: 'ReadOnlyMany' });
      const held = (node: string, state: Attachment['state']): Attachment => ({
        claim: `default/on-${node}`,
        node,
        state,
      });
      const status = { status: 'Bound', boundClaim: 'default/on-a', boundNode: 'a' } as const;
      for (const name of ['a', 'b']) await world.store.create(nodes, { name });
      await world.store.updateStatus(volumes, key, {
        ...status,
        attachments: [held('a', 'Detaching'), held('b', there)],
      });
      await world.clock.advance(10_000);
      expect(await volume()).to.deep.include({
        ...{ status: 'Bound', boundNode: 'b' },
        attachments: [held('b', there)],
      });
      expect(world.driver.calls).to.include('detach');
    });
});
