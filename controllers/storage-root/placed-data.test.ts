import { expect } from 'chai';
import { MemoryEngine, openStore, type ObjectStore } from 'kedge';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { nodes } from '../node/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { volumes } from '../volume/kind.js';
import { placedIn } from './placed-data.js';

describe('the data that the store places in the root of a node', () => {
  let store: ObjectStore;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());

  const namespace = 'default';
  const common = { storageClassName: 'c', accessMode: 'ReadWriteOnce', size: '1Gi' } as const;
  const createVolume = async (name: string, node: string): Promise<string> => {
    const { metadata } = await store.create(volumes, { ...common, name, namespace });
    const topology = { [nodeTopologyKey]: node };
    const status = { driver: 'local', handle: name, topology };
    await store.updateStatus(volumes, { namespace, name }, { ...status, status: 'Provisioning' });
    await store.updateStatus(volumes, { namespace, name }, { ...status, status: 'Available' });
    return metadata.uid;
  };
  const createSnapshot = async (name: string, sourceUid: string, home?: string): Promise<void> => {
    await store.create(snapshots, { name, namespace, source: { volume: 'any' } });
    const topology = home === undefined ? {} : { [nodeTopologyKey]: home };
    const status = { driver: 'local', handle: name, sourceUid, topology };
    await store.updateStatus(snapshots, { namespace, name }, { ...status, status: 'Creating' });
    await store.updateStatus(snapshots, { namespace, name }, { ...status, status: 'Ready' });
  };
  const labels = async (): Promise<readonly string[]> =>
    (await placedIn(store, { node: 'n1', driver: 'local' })).map(({ label }) => label).sort();

  it('excludes volumes and snapshots of other nodes, and with several nodes snapshots of unknown ones', async () => {
    await createSnapshot('here', await createVolume('v1', 'n1'));
    await createSnapshot('there', await createVolume('v2', 'n2'));
    await createSnapshot('orphan', '0f6cbd92-1c31-4a3a-9c0e-111111111111');
    await store.create(nodes, { name: 'n1' });
    const mine = ['snapshot default/here', 'volume default/v1'];
    expect(await labels()).to.deep.equal([mine[0], 'snapshot default/orphan', mine[1]]);
    await store.create(nodes, { name: 'n2' });
    expect(await labels()).to.deep.equal(mine);
  });

  it('includes a snapshot whose source was deleted, on the node that it records', async () => {
    for (const name of ['n1', 'n2']) await store.create(nodes, { name });
    await createSnapshot('here', '0f6cbd92-1c31-4a3a-9c0e-111111111111', 'n1');
    await createSnapshot('there', '0f6cbd92-1c31-4a3a-9c0e-222222222222', 'n2');
    expect(await labels()).to.deep.equal(['snapshot default/here']);
  });

  it('excludes a volume that was lost, and no other that is Failed', async () => {
    await createVolume('lost', 'n1');
    await createVolume('failed', 'n1');
    for (const [name, reason] of [
      ['lost', 'VolumeLost'],
      ['failed', 'ExpandFailed'],
    ] as const)
      await store.updateStatus(volumes, { namespace, name }, { status: 'Failed', reason });
    expect(await labels()).to.deep.equal(['volume default/failed']);
  });
});
