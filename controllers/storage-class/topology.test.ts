import { expect } from 'chai';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import type { StorageClass } from './kind.js';
import { placeInstance } from '../placement/index.js';
import { chooseTopology, topologyAllows } from './index.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const node = (name: string, labels: Record<string, string>): Node => ({
  name,
  labels,
  status: 'Ready',
  metadata,
});
const zone = 'svc.io/zone';

describe('allowedTopologies', () => {
  const holds = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: string[]) =>
    [{ [zone]: 'a' }, { [zone]: 'b' }, {}].map((labels) =>
      topologyAllows(
        [{ matchExpressions: [{ key: zone, operator, values: values ?? [] }] }],
        labels,
      ),
    );

  it('operators: NotIn and DoesNotExist match a missing key', () => {
    expect(holds('In', ['a'])).to.deep.equal([true, false, false]);
    expect(holds('NotIn', ['a'])).to.deep.equal([false, true, true]);
    expect(holds('Exists')).to.deep.equal([true, true, false]);
    expect(holds('DoesNotExist')).to.deep.equal([false, false, true]);
  });

  it('selectors are alternatives, their parts must all hold, none allows everything', () => {
    const selectors = [
      { matchLabels: { [zone]: 'a', disk: 'fast' } },
      { matchLabels: { [zone]: 'b' } },
    ];
    expect(topologyAllows(selectors, { [zone]: 'a', disk: 'fast' })).to.equal(true);
    expect(topologyAllows(selectors, { [zone]: 'a' })).to.equal(false);
    expect(topologyAllows(selectors, { [zone]: 'b' })).to.equal(true);
    expect(topologyAllows(undefined, undefined)).to.equal(true);
    expect(topologyAllows([], {})).to.equal(true);
    expect(topologyAllows([{ matchLabels: { toString: 'x' } }], {})).to.equal(false);
  });

  it('a volume is provisioned where its class allows it: here if possible, else at the first node by name', () => {
    const storageClass: StorageClass = {
      name: 'c',
      driver: 'd',
      metadata,
      allowedTopologies: [
        { matchExpressions: [{ key: zone, operator: 'In', values: ['a', 'b'] }] },
      ],
    };
    const nodes = [
      node('n3', { [zone]: 'c' }),
      node('n2', { [zone]: 'b' }),
      node('n1', { [zone]: 'a' }),
    ];
    const choose = (preferred: string) =>
      chooseTopology(storageClass, nodes, { topologyKeys: [zone] }, preferred);
    expect(choose('n2')).to.deep.equal({ type: 'node', node: 'n2', topology: { [zone]: 'b' } });
    expect(choose('n3')).to.deep.equal({ type: 'node', node: 'n1', topology: { [zone]: 'a' } });
    const none = chooseTopology(storageClass, nodes.slice(0, 1), { topologyKeys: [zone] }, 'n3');
    expect(none).to.include({ type: 'none' });
    expect(none.type === 'none' && none.message).to.contain('"c"');
  });

  it('the topology in parameters is that of the volume, regardless of node labels', () => {
    const storageClass: StorageClass = { name: 'c', driver: 'd', metadata };
    const nodes = [node('n1', { [zone]: 'a' }), node('n2', { [zone]: 'b' })];
    const chosen = (named: Record<string, string>) =>
      chooseTopology(storageClass, nodes, { topologyKeys: [zone] }, 'n1', named);
    expect(chosen({})).to.deep.equal({ type: 'node', node: 'n1', topology: { [zone]: 'a' } });
    const there = { type: 'node', node: 'n2', topology: { [zone]: 'b' } };
    expect(chosen({ [zone]: 'b' })).to.deep.equal(there);
    const nowhere = { type: 'node', node: 'n1', topology: { [zone]: 'c' } };
    expect(chosen({ [zone]: 'c' })).to.deep.equal(nowhere);
  });

  it('a required label comes from the parameters or from a node, else the volume waits', () => {
    const storageClass: StorageClass = { name: 'c', driver: 'd', metadata };
    const rules = {
      topologyKeys: [zone],
      placeParameters: { [zone]: ['availabilityZone'] },
      requiredTopologyKeys: [zone],
    };
    const nodes = [node('n1', {}), node('n2', { [zone]: 'b' })];
    const labelled = { type: 'node', node: 'n2', topology: { [zone]: 'b' } };
    expect(chooseTopology(storageClass, nodes, rules, 'n1')).to.deep.equal(labelled);
    for (const none of [nodes.slice(0, 1), []]) {
      const waits = chooseTopology(storageClass, none, rules, 'n1');
      expect(waits.type === 'none' && waits.message).to.equal(
        'its parameters do not contain availabilityZone, and no node has the label svc.io/zone; set availabilityZone in class "c", or label a node',
      );
    }
    const named = { type: 'node', node: 'n1', topology: { [zone]: 'c' } };
    expect(
      chooseTopology(storageClass, nodes.slice(0, 1), rules, 'n1', { [zone]: 'c' }),
    ).to.deep.equal(named);
  });

  it('an instance is placed where its volumes are or may be provisioned, and reports if no node qualifies', () => {
    const instance: Instance = {
      name: 'i-0',
      namespace: 'default',
      service: 'i',
      ordinal: 0,
      template: {},
      metadata,
    };
    const nodes = [node('n1', { [zone]: 'a' }), node('n2', { [zone]: 'b' })];
    const made = (at: string) => ({
      volume: { namespace: 'default', name: `v-${at}`, handle: 'h', topology: { [zone]: at } },
      storageClass: undefined,
    });
    const wanted = (at: string) => ({
      volume: { namespace: 'default', name: `w-${at}` },
      storageClass: { name: `c-${at}`, allowedTopologies: [{ matchLabels: { [zone]: at } }] },
    });
    const place = (...constraints: Parameters<typeof placeInstance>[2] & object) =>
      placeInstance(instance, nodes, constraints);
    expect(place(made('b'))).to.deep.equal({ type: 'node', node: 'n2' });
    expect(place(wanted('b'))).to.deep.equal({ type: 'node', node: 'n2' });
    const nowhere = place(made('c'), wanted('d'));
    expect(nowhere.type === 'none' && nowhere.message).to.contain(
      'v-c is reachable only from nodes with',
    );
    expect(nowhere.type === 'none' && nowhere.message).to.contain('class "c-d"');
    const apart = place(made('a'), wanted('b'));
    expect(apart.type === 'none' && apart.message).to.contain('none of them reaches all');
  });

  it('data of one node is placed by the name of the node, regardless of its labels', () => {
    const storageClass: StorageClass = { name: 'local', driver: 'local', metadata };
    const nodes = [node('n1', {}), node('n2', { [nodeTopologyKey]: 'n1' })];
    const { topology } = chooseTopology(
      storageClass,
      nodes,
      { topologyKeys: [nodeTopologyKey] },
      'n2',
    ) as {
      topology: Record<string, string>;
    };
    expect(topology).to.deep.equal({ [nodeTopologyKey]: 'n2' });
    const instance = { template: {} } as Instance;
    const volume = { namespace: 'default', name: 'v', handle: '/x', topology };
    const placed = placeInstance(instance, nodes, [{ volume, storageClass }]);
    expect(placed).to.deep.equal({ type: 'node', node: 'n2' });
    const unplaced = { ...volume, topology: {} };
    const anywhere = placeInstance(instance, nodes, [{ volume: unplaced, storageClass }]);
    expect(anywhere).to.deep.equal({ type: 'node', node: 'n1' });
  });
});
