import { expect } from 'chai';
import { MemoryEngine, type ObjectStore, openStore, runTxn } from 'kedge';
import { FakeClock } from 'kedge/testing';
import { type Instance, instances } from '../instance/kind.js';
import { type Node, nodes } from '../node/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { takingFrom } from './committed.js';

const namespace = 'default';
const zone = 'svc.io/zone';
const ports = [{ name: 'http', port: 80, hostPort: 8080 }];
const key = (name: string) => ({ namespace, name });

describe('the instances that use a node as of a commit', () => {
  let store: ObjectStore;
  let node: Node;
  let x: Instance;
  const clock = new FakeClock();
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine(), clock });
    node = await store.create(nodes, { name: 'n', status: 'Ready', labels: { [zone]: 'a' } });
    x = await instance('x');
    await instance('y', [{ name: 'd', mountPath: '/d', claim: { name: 'v' } }]);
    await store.create(volumes, {
      ...key('v'),
      ...{ storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' },
    });
  });
  afterEach(() => store.close());

  const instance = (name: string, mounts: Instance['template']['volumes'] = []) =>
    store.create(instances, {
      ...{ ...key(name), service: name, ordinal: 0 },
      template: { ports, volumes: mounts },
    });
  const settleIn = (value: string) =>
    store.updateStatus(volumes, key('v'), { driver: 'd', topology: { [zone]: value } });
  const nominate = () =>
    store.updateStatus(instances, key('y'), {
      nominatedNode: 'n',
      nominatedAt: new Date(clock.now()).toISOString(),
    });
  const names = async (cached: Volume | undefined): Promise<readonly (readonly string[])[]> => {
    const read: (readonly string[])[] = [];
    const sources = { volumes: { get: () => cached } };
    await runTxn(store, async (txn) => {
      const found = await takingFrom(txn, store, node, x, sources);
      read.push(found.map(({ name }) => name));
      if (read.length === 1) await nominate();
      txn.updateStatus(instances, key('x'), { failureMessage: 'written' });
    });
    return read;
  };

  it('are read again if one is nominated before the commit', async () => {
    await settleIn('a');
    const cached = await store.get(volumes, key('v'));
    expect(await names(cached)).to.deep.equal([[], ['y']]);
  });

  it('include one whose volume is stale or missing in the cache', async () => {
    await settleIn('b');
    const cached = await store.get(volumes, key('v'));
    await settleIn('a');
    await nominate();
    expect((await names(cached))[0]).to.deep.equal(['y']);
    expect((await names(undefined))[0]).to.deep.equal(['y']);
    await settleIn('b');
    expect((await names(undefined))[0]).to.deep.equal([]);
  });
});
