import { expect } from 'chai';
import { effectRecords } from 'kedge';
import { snapshots } from '../../snapshot/kind.js';
import { volumes } from '../kind.js';
import { StorageWorld } from '../../testing/storage-world.js';

describe('volumes of a provider with asynchronous operations', () => {
  let world: StorageWorld;

  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  const count = (call: string): number => world.driver.calls.filter((one) => one === call).length;
  const records = async () => (await world.store.list(effectRecords)).items;

  it('a pending call counts no attempt, is in the status, and is repeated after the wait that it names', async () => {
    world.driver.slow = { provision: 3 };
    await world.createVolume();
    expect(count('provision')).to.equal(1);
    expect(await world.volume()).to.include({ status: 'Provisioning', attempts: 0 });
    expect((await world.volume())?.lastOperation).to.include({
      call: 'provision',
      outcome: 'Pending',
      message: `operation ${world.driver.begun[0]} is still running at the provider`,
    });
    const { resourceVersion } = (await world.volume())!.metadata;
    await world.clock.advance(10_500);
    expect(count('provision')).to.equal(3);
    expect((await world.volume())?.metadata.resourceVersion, 'polls write nothing').to.equal(
      resourceVersion,
    );
    await world.clock.advance(5_000);
    expect(await world.volume()).to.include({ status: 'Available', attempts: 0 });
    expect(world.driver.begun).to.have.length(1);
    expect(await records()).to.deep.equal([]);
  });

  const call = (at: number) => ({ at, method: 'GET', path: '/v2/actions/7', durationMs: 12 });

  it('reports the calls of the provider, and again after a minute while the operation runs', async () => {
    const { driver, clock } = world;
    driver.slow = { provision: 30 };
    driver.providerCalls = () => [{ ...call(clock.now()), status: 200, requestId: 'r-1' }];
    await world.createVolume();
    const began = new Date(clock.now()).toISOString();
    const row = { method: 'GET', path: '/v2/actions/7', durationMs: 12 };
    const shown = async () => (await world.volume())?.lastOperation?.calls;
    expect(await shown()).to.deep.equal([
      { at: began, ...row, status: 200, requestId: 'r-1', error: '' },
    ]);
    await clock.advance(50_000);
    expect((await shown())?.[0]?.at).to.equal(began);
    await clock.advance(20_000);
    expect(Date.parse((await shown())?.[0]?.at ?? '')).to.be.greaterThan(Date.parse(began));
    await clock.advance(120_000);
    expect((await world.volume())?.status).to.equal('Available');
    expect(await shown(), 'after success').to.equal(undefined);
  });

  it('reports the calls of the provider that led to a failure', async () => {
    world.driver.fails = 'Unavailable';
    world.driver.providerCalls = () => [{ ...call(0), error: 'Unavailable' }];
    await world.createVolume();
    const [shown] = (await world.volume())?.lastOperation?.calls ?? [];
    expect(shown).to.include({ status: 0, requestId: '', error: 'Unavailable' });
  });

  it('after a restart the operation is found by its id, and no other is started', async () => {
    world.driver.slow = { provision: 4 };
    await world.createVolume();
    expect((await records()).map(({ effects }) => Object.keys(effects))).to.deep.equal([
      ['driver provision'],
    ]);
    await world.restart();
    await world.clock.advance(30_000);
    expect(world.driver.begun).to.have.length(1);
    expect((await world.volume())?.status).to.equal('Available');
  });

  it('V9: a volume that is deleted meanwhile is followed to a known outcome, then deleted, and leaves no record', async () => {
    world.driver.slow = { provision: 2, delete: 2 };
    await world.createVolume();
    await world.deleteVolume();
    expect(count('delete')).to.equal(0);
    await world.clock.advance(60_000);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(0);
    expect(world.driver.begun).to.have.length(2);
    expect(await records()).to.deep.equal([]);
  });

  it('V25: a deletion that was started is followed to its end, also if the policy was changed to retain', async () => {
    world.driver.slow = { delete: 3 };
    await world.createVolume();
    await world.deleteVolume();
    const volume = await world.volume();
    await world.store.update(volumes, { ...volume!, reclaimPolicy: 'retain' });
    await world.clock.advance(1_000);
    expect(await world.volume(), 'while the provider works').to.not.equal(undefined);
    await world.clock.advance(60_000);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(0);
    expect(await records()).to.deep.equal([]);
  });

  it('V20: the id of an operation is removed when the provider shows its result', async () => {
    world.driver.slow = { provision: 1 };
    await world.createVolume();
    world.driver.failsOn = { provision: 'Timeout', observe: 'Unavailable' };
    await world.clock.advance(6_000);
    expect(await world.volume()).to.include({ status: 'Stalled' });
    expect(await records(), 'kept while the outcome is unknown').to.have.length(1);
    world.driver.failsOn = {};
    await world.clock.advance(120_000);
    expect(await world.volume()).to.include({ status: 'Available' });
    expect(await records()).to.deep.equal([]);
  });

  it('V20: a volume restored from a snapshot is never formatted, also when its outcome was unknown', async () => {
    world.driver.blockDevice = true;
    await world.createVolume();
    await world.store.create(snapshots, {
      namespace: 'default',
      name: 's',
      source: { volume: 'v' },
    });
    await world.clock.advance(1_000);
    world.driver.failsOn = { restore: 'Timeout' };
    await world.createVolume({ name: 'restored', source: { snapshot: 's' } });
    await world.clock.advance(120_000);
    const restored = await world.store.get(volumes, { namespace: 'default', name: 'restored' });
    expect(count('observe')).to.be.greaterThan(0);
    expect(restored).to.include({ status: 'Available', formatted: true });
  });
});
