import { expect } from 'chai';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { volumes } from '../kind.js';
import { StorageWorld } from '../../testing/storage-world.js';

describe('a volume of an earlier release, whose topology names no node', () => {
  /** The calls of a process that starts with such a volume, by the topology of the driver. */
  async function callsAtStart(topologyKeys: readonly string[]): Promise<readonly string[]> {
    const world = await StorageWorld.start();
    try {
      await world.createVolume();
      for (const { namespace, name } of (await world.store.list(volumes)).items)
        await world.store.updateStatus(volumes, { namespace, name }, { topology: {} });
      world.driver.topologyKeys = topologyKeys;
      const before = world.driver.calls.length;
      await world.restart();
      return world.driver.calls.slice(before);
    } finally {
      await world.stop();
    }
  }

  it('is probed at the start if its data is on a node, and not for another driver', async () => {
    expect(await callsAtStart([nodeTopologyKey])).to.deep.equal(['observe']);
    expect(await callsAtStart(['svc.io/region'])).to.deep.equal([]);
  });
});
