import { expect } from 'chai';
import { settle } from 'kedge/testing';
import { instanceOf, StorageWorld } from '../../testing/storage-world.js';
import { volumes } from '../kind.js';

const mount = { name: 'd', mountPath: '/d', claim: { name: 'v' } };

describe('a volume that its provider does not show', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  it('V27: a volume that two probes do not find is lost, never created again, and Available again when it is found', async () => {
    await world.createVolume();
    world.driver.failsOn = { observe: 'NotFound' };
    await world.clock.advance(2 * 60 * 60_000);
    expect(await world.volume()).to.include({
      status: 'Failed',
      reason: 'VolumeLost',
      handle: 'h',
    });
    expect((await world.volume())?.failureMessage).to.match(/^VolumeLost/);
    expect(world.driver.calls.filter((call) => call === 'provision')).to.have.length(1);
    expect(world.driver.calls.filter((call) => call === 'observe').length).to.be.lessThan(10);
    world.driver.failsOn = {};
    await world.clock.advance(20 * 60_000);
    expect(await world.volume()).to.include({ status: 'Available', failureMessage: '' });
  });

  it('V27: one that an instance uses is Bound again when it is found', async () => {
    await world.createVolume();
    const instance = instanceOf('i-0');
    await world.volumeManager.ensure(instance, mount);
    world.driver.failsOn = { observe: 'NotFound' };
    await world.clock.advance(2 * 60 * 60_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'VolumeLost' });
    world.driver.failsOn = {};
    await world.clock.advance(20 * 60_000);
    expect(await world.volume()).to.include({ status: 'Bound', boundClaim: 'default/i-0' });
  });

  it('V27: a volume that an attach does not find is probed, and lost half a minute later', async () => {
    await world.createVolume();
    world.driver.failsOn = { attach: 'NotFound', observe: 'NotFound' };
    await world.volumeManager.ensure(instanceOf('i-0'), mount).catch(() => undefined);
    await settle();
    expect(world.driver.calls.filter((call) => call === 'observe')).to.have.length(1);
    await world.clock.advance(31_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'VolumeLost' });
  });

  it('V27: a volume that only an attach does not find is probed once, and stays', async () => {
    await world.createVolume();
    world.driver.failsOn = { attach: 'NotFound' };
    await world.volumeManager.ensure(instanceOf('i-0'), mount).catch(() => undefined);
    await world.clock.advance(10 * 60_000);
    expect(world.driver.calls.filter((call) => call === 'observe')).to.have.length(1);
    expect(await world.volume()).to.include({ status: 'Available', reason: 'Provisioned' });
  });

  it('V27: a volume whose resize does not find it is lost half a minute later', async () => {
    await world.createVolume();
    world.driver.failsOn = { expand: 'NotFound', observe: 'NotFound' };
    await world.store.update(volumes, { ...(await world.volume())!, size: '2Gi' });
    await world.clock.advance(31_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'VolumeLost' });
  });

  it('V27: one miss that is not confirmed changes nothing', async () => {
    await world.createVolume();
    world.driver.failsOn = { observe: 'NotFound' };
    while (!world.driver.calls.includes('observe')) await world.clock.advance(60_000 / 6);
    world.driver.failsOn = {};
    await world.clock.advance(10 * 60_000);
    expect(await world.volume()).to.include({ status: 'Available', missingSince: '' });
  });

  it('V27: a miss that was noted while the clock was far ahead is confirmed too', async () => {
    await world.createVolume();
    world.driver.failsOn = { attach: 'NotFound', observe: 'NotFound' };
    const right = world.clock.now.bind(world.clock);
    world.clock.now = () => right() + 365 * 24 * 3_600_000;
    await world.volumeManager.ensure(instanceOf('i-0'), mount).catch(() => undefined);
    await settle();
    expect((await world.volume())?.missingSince).to.match(/^2027/);
    world.clock.now = right;
    await world.clock.advance(3 * 60_000);
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'VolumeLost' });
  });

  it('a volume that failed while the clock was far ahead is retried after half an hour at most', async () => {
    const right = world.clock.now.bind(world.clock);
    world.clock.now = () => right() + 365 * 24 * 3_600_000;
    world.driver.failsOn = { provision: 'InvalidParameters' };
    await world.createVolume();
    expect(await world.volume()).to.include({ status: 'Failed', reason: 'InvalidParameters' });
    world.clock.now = right;
    world.driver.failsOn = {};
    await world.clock.advance(30 * 60_000);
    expect(await world.volume()).to.include({ status: 'Available' });
  });
});
