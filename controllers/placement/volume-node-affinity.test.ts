import { expect } from 'chai';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import { namedTopology } from '../storage-class/index.js';
import { placeInstance } from './plan.js';
import type { VolumeConstraint } from './volume-node-affinity.js';

const region = 'svc.io/region';
const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const node = (name: string, at?: string): Node => ({
  name,
  ...(at === undefined ? {} : { labels: { [region]: at } }),
  status: 'Ready',
  metadata,
});
const nodes = [node('n1'), node('n2', 'nyc1'), node('n3', 'fra1')];
const instance = { template: {} } as Instance;
const keysOf = { [region]: ['location', 'region'] };

function unprovisioned(
  parameters: Record<string, string>,
  topology?: Record<string, string>,
): VolumeConstraint {
  const volume = { namespace: 'default', name: 'v', ...(topology ? { topology } : {}) };
  return { volume, storageClass: { name: 'c' }, named: namedTopology(parameters, keysOf) };
}

function reason(all: readonly Node[], ...constraints: VolumeConstraint[]): string {
  const placed = placeInstance(instance, all, constraints);
  return placed.type === 'none' ? placed.message : `placed on ${placed.node}`;
}

describe('an instance with a volume that is not provisioned yet', () => {
  for (const key of ['location', 'region'])
    it(`is placed in the ${key} that the parameters give`, () => {
      expect(reason(nodes, unprovisioned({ [key]: 'fra1' }))).to.equal('placed on n3');
    });

  it('is placed on any node that the class permits when the parameters give no place', () => {
    expect(reason(nodes, unprovisioned({ fsType: 'xfs' }))).to.equal('placed on n1');
  });

  it('waits if no node is in that place, with the reason of each node', () => {
    expect(reason(nodes.slice(0, 2), unprovisioned({ region: 'fra1' }))).to.equal(
      '2 of 2 nodes are ready, 2 of them schedulable, 2 match its nodeSelector, but volume default/v is reachable only from nodes with {svc.io/region=fra1}: node "n1" has no label svc.io/region; node "n2" has svc.io/region=nyc1',
    );
  });

  it('names the volume that a node does not reach when it has several, and at most eight nodes', () => {
    const many = Array.from({ length: 11 }, (_, n) => node(`m${n}`, 'fra1'));
    const provisioned = {
      volume: { namespace: 'a', name: 'w', handle: 'h', topology: { [region]: 'nyc1' } },
      storageClass: undefined,
    };
    const message = reason(many, unprovisioned({ region: 'fra1' }), provisioned);
    expect(message).to.contain('node "m0" has svc.io/region=fra1, for volume a/w');
    expect(message.match(/node "/g)).to.have.length(8);
    expect(message).to.contain('3 more nodes');
  });

  it('waits for the value of a reference, which the topology of the volume contains after its start', () => {
    const parameters = { location: 'secret:place/location' };
    expect(reason(nodes, unprovisioned(parameters))).to.contain(
      'parameter location of volume default/v is a secret reference',
    );
    const started = unprovisioned(parameters, { [region]: 'nyc1' });
    expect(reason(nodes, started)).to.equal('placed on n2');
  });

  it('waits until it is provisioned if the driver requires a label that no parameter gives', () => {
    const open = { ...unprovisioned({}, { [region]: 'nyc1' }), open: [region] };
    expect(reason(nodes, open)).to.contain(
      'no parameter of volume default/v names its svc.io/region; it is known once volume default/v is provisioned',
    );
    const made = { ...open, volume: { ...open.volume, handle: 'h' } };
    expect(reason(nodes, made)).to.equal('placed on n2');
  });

  it('follows the parameters and not the topology of an earlier attempt', () => {
    const moved = unprovisioned({ region: 'fra1' }, { [region]: 'nyc1' });
    expect(reason(nodes, moved)).to.equal('placed on n3');
  });
});
