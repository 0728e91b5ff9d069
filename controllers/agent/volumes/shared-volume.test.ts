import { expect } from 'chai';
import { effectRecords, Manager, seededRandom, silentLogger } from 'kedge';
import { settle } from 'kedge/testing';
import type { Instance } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { parameterResolver } from '../../secret/index.js';
import { instanceOf, StorageWorld } from '../../testing/storage-world.js';
import { VolumeManager } from './volume-manager.js';

describe('a volume that several nodes attach at once, of a provider with asynchronous operations', () => {
  let world: StorageWorld;
  const others: Manager[] = [];

  beforeEach(async () => {
    world = await StorageWorld.start();
    await world.createVolume({ accessMode: 'ReadOnlyMany' });
    await world.clock.advance(1_000);
  });
  afterEach(async () => {
    for (const manager of others.splice(0)) {
      const stopping = manager.stop(0);
      await world.clock.advance(10_000);
      await stopping;
    }
    await world.stop();
  });

  /** The volume manager of another node. */
  async function nodeNamed(node: string): Promise<VolumeManager> {
    const { store, clock, sealer } = world;
    const manager = new Manager({ store, clock, random: seededRandom(2) });
    others.push(manager);
    const volumeManager = new VolumeManager({
      ...{ store, manager, clock, node, logger: silentLogger, policy: defaultPolicy },
      drivers: world.driver.registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
      ...{ mountRoot: `/mounts-${node}`, mayMount: false },
    });
    await manager.start();
    await settle();
    return volumeManager;
  }

  const recorded = async (): Promise<Readonly<Record<string, string>>> => {
    const { items } = await world.store.list(effectRecords);
    return Object.fromEntries(
      items
        .flatMap(({ effects }) => Object.entries(effects))
        .map(([name, state]) => [
          name,
          state.phase === 'pending' ? state.operationId : state.phase,
        ]),
    );
  };

  it('has one operation for each node, which no other node continues', async () => {
    const mount = { name: 'data', mountPath: '/data', claim: { name: 'v' } };
    const user = (name: string): Instance => instanceOf(name);
    world.driver.slow = { attach: 4 };
    const m = await nodeNamed('m');
    const ensure = () =>
      Promise.all([
        world.volumeManager.ensure(user('first'), mount),
        m.ensure(user('second'), mount),
      ]);
    void ensure();
    await settle();
    const begun = await recorded();
    expect(Object.keys(begun).sort()).to.deep.equal(['driver attach m', 'driver attach n']);
    expect(new Set(Object.values(begun)).size).to.equal(2);
    expect([...world.driver.begun].sort()).to.deep.equal(Object.values(begun).sort());
    await world.clock.advance(20_000);
    expect((await ensure()).map(({ type }) => type)).to.deep.equal(['mounted', 'mounted']);
    expect(world.driver.begun).to.have.length(2);
    expect(await recorded()).to.deep.equal({});
  });
});
