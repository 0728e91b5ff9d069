import { expect } from 'chai';
import { DriverError } from '@kedge/driver-sdk';
import { settle } from 'kedge/testing';
import { instanceOf, StorageWorld } from '../../testing/storage-world.js';
import type { MountOutcome } from './mount-outcome.js';

const mount = { name: 'data', mountPath: '/d', claim: { name: 'v' } };

describe('an attach that takes longer than its instance waits, and fails', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.createVolume();
  });
  afterEach(() => world.stop());

  const attaches = (): number => world.driver.calls.filter((call) => call === 'attach').length;
  const ensured = async (): Promise<MountOutcome> => {
    const outcome = world.volumeManager.ensure(instanceOf('i-0'), mount);
    await world.clock.advance(2_000);
    return outcome;
  };

  it('is reported with a retry before the next attempt begins, and as the state during it', async () => {
    const { driver } = world;
    let fail: () => void = () => undefined;
    driver.attaching = new Promise((_, reject) => {
      fail = () => reject(new DriverError('Unavailable', 'no device'));
    });
    expect(await ensured()).to.include({ reason: 'Attaching' });
    fail();
    await settle();
    expect(await ensured()).to.include({ reason: 'Unavailable', retry: true });
    expect(attaches(), 'the report is no new attempt').to.equal(1);
    let end: () => void = () => undefined;
    driver.attaching = new Promise((resolve) => (end = resolve));
    const during = await ensured();
    expect(during).to.include({ reason: 'Unavailable', retry: false });
    expect(during).to.have.property('message').that.contains('no device');
    expect(attaches()).to.equal(2);
    end();
    await settle();
    expect((await ensured()).type).to.equal('mounted');
    await world.volumeManager.releaseAll('default/i-0');
    driver.attaching = new Promise((resolve) => (end = resolve));
    expect(await ensured(), 'the failure is no longer reported').to.include({
      reason: 'Attaching',
    });
    end();
    await settle();
  });
});
