import { expect } from 'chai';
import type { EngineClient } from '../engine/engine-client.js';
import { EngineError } from '../engine/engine-error.js';
import { ClusterNetwork } from './cluster-network.js';

describe('the network of a cluster', () => {
  const cluster = '0123456789abcdef';
  const { signal } = new AbortController();
  let labels: Record<string, string> | undefined;
  let removed: string[];
  let network: ClusterNetwork;

  beforeEach(() => {
    labels = undefined;
    removed = [];
    const engine = {
      containers: { list: () => Promise.resolve([]) },
      networkNamed: () => Promise.resolve(labels && { id: 'n1', labels }),
      createBridge: (_name: string, given: Record<string, string>) => {
        labels = given;
        return Promise.resolve('n1');
      },
      removeNetwork: (id: string) => Promise.resolve(void removed.push(id)),
    };
    network = new ClusterNetwork(engine as unknown as EngineClient, cluster);
  });

  it('is created once, and removed with the last container', async () => {
    for (const each of ['first', 'second'])
      expect(await network.during(signal, () => Promise.resolve(each))).to.equal(each);
    await network.removeIfUnused(signal);
    expect(removed).to.deep.equal(['n1']);
  });

  it('is not removed while a start uses it', async () => {
    await network.during(signal, () => network.removeIfUnused(signal));
    expect(removed).to.deep.equal([]);
    await network.removeIfUnused(signal);
    expect(removed).to.deep.equal(['n1']);
  });

  it('is neither used nor removed if another one has its name', async () => {
    labels = {};
    const error = await network.during(signal, () => Promise.resolve('began')).catch(String);
    expect(error).to.contain(`docker network rm ${network.name}`);
    await network.removeIfUnused(signal);
    expect(removed).to.deep.equal([]);
  });

  it('is not used either if another one takes its name meanwhile', async () => {
    const engine = {
      networkNamed: () => Promise.resolve(labels && { id: 'n1', labels }),
      createBridge: () => {
        labels = { 'svc.io/cluster': 'other' };
        return Promise.reject(new EngineError('Conflict', 'the name is in use'));
      },
    };
    network = new ClusterNetwork(engine as unknown as EngineClient, cluster);
    const error = await network.during(signal, () => Promise.resolve('began')).catch(String);
    expect(error).to.contain('was not created by this cluster');
  });
});
