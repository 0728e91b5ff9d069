import { expect } from 'chai';
import type { Instance, Node, Volume } from '@kedge/api/kinds';
import { emptyWorld } from '../world.js';
import { noNodeFits, topologyUnsatisfied } from './placement.js';
import { tooLittle } from './room.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const node: Node = { name: 'n', status: 'Ready', metadata };
const world = { ...emptyWorld, nodes: [node] };

describe('the remedy of a placement', () => {
  it('of an instance whose volume is in another region is a node there, not a change of its nodeSelector', () => {
    const object = { namespace: 'default', service: 'web', template: {} } as Instance;
    const message =
      '1 of 1 nodes are ready, but volume default/v is reachable only from nodes with {svc.io/region=fra1}: node "n" has no label svc.io/region';
    const remedy = noNodeFits({ kind: 'Instance', object, world, message });
    expect(remedy.text).to.equal(
      'start kedged on a node with the labels of volume default/v; or, if node n is there, label it: kedge label node/n svc.io/region=fra1 --overwrite',
    );
  });

  it('of an instance whose volume is not provisioned yet is to wait for it', () => {
    const object = { namespace: 'default', service: 'web', template: {} } as Instance;
    const message =
      '1 of 1 nodes are ready, but no parameter of volume default/v names its svc.io/zone; it is known once volume default/v is provisioned';
    const remedy = noNodeFits({ kind: 'Instance', object, world, message });
    expect(remedy).to.include({ type: 'wait', waitsFor: 'volume default/v' });
  });

  it('of an instance whose nodeSelector excludes the nodes of its volume removes it, and labels no node', () => {
    const labels = { 'svc.io/region': 'fra1' };
    const nodes = [
      { ...node, labels: { disk: 'ssd' } },
      { ...node, name: 'far', labels },
    ];
    const object = {
      namespace: 'default',
      service: 'web',
      template: { nodeSelector: { disk: 'ssd' } },
    } as unknown as Instance;
    const message =
      '2 of 2 nodes are ready, 1 matches its nodeSelector, but volume default/v is reachable only from nodes with {svc.io/region=fra1}: node "n" has no label svc.io/region';
    const remedy = noNodeFits({ kind: 'Instance', object, world: { ...world, nodes }, message });
    expect(remedy.command).to.equal(
      `kedge patch service/web -n default --patch '{"nodeSelector":null}'`,
    );
  });

  it('labels no node of another place with the place that is needed', () => {
    const there = { 'svc.io/region': 'eu', 'svc.io/zone': 'eu-a' };
    const nodes = [{ ...node, labels: there }];
    const wanted = { 'svc.io/zone': 'eu-b' };
    const remedyFor = (nodeSelector: object, message: string) =>
      noNodeFits({
        ...{ kind: 'Instance', world: { ...world, nodes }, message },
        object: { namespace: 'default', service: 'web', template: { nodeSelector } } as Instance,
      });
    const reached =
      '1 of 1 nodes are ready, but volume default/v is reachable only from nodes with {svc.io/zone=eu-b}: node "n" has svc.io/zone=eu-a';
    expect(remedyFor({}, reached)).to.include({
      ...{ type: 'wait', command: 'kedge scale service/web -n default --replicas 0' },
      waitsFor: 'a node with svc.io/zone=eu-b, where volume default/v is,',
    });
    expect(remedyFor(wanted, 'none matches').command).to.equal(
      `kedge patch service/web -n default --patch '{"nodeSelector":null}'`,
    );
    const about = {
      ...{ kind: 'Volume' as const, object: { storageClassName: 'c' } as Volume, message: '' },
      ...{ world: { ...world, nodes } },
    };
    const allowedTopologies = [{ matchLabels: wanted }];
    const storageClasses = [{ name: 'c', driver: 'd', allowedTopologies, metadata }];
    const remedyOf = (all: readonly Node[]) =>
      topologyUnsatisfied({ ...about, world: { ...world, nodes: all, storageClasses } }).command;
    expect(remedyOf(nodes)).to.equal(
      `kedge patch storageclass/c --patch '{"allowedTopologies":null}'`,
    );
    expect(remedyOf([...nodes, { ...node, name: 'new' }])).to.equal(
      'kedge label node/new svc.io/zone=eu-b --overwrite',
    );
  });

  it('of an instance without a nodeSelector does not remove one', () => {
    const object = { namespace: 'default', service: 'web', template: {} } as Instance;
    for (const why of [
      'none of them reaches all of its volumes',
      'it is known once volume default/v is provisioned',
    ]) {
      const message = `1 of 1 nodes are ready, but ${why}`;
      const remedy = noNodeFits({ kind: 'Instance', object, world, message });
      expect(remedy.text).to.not.contain('nodeSelector');
      expect(remedy.command).to.equal('kedge scale service/web -n default --replicas 0');
    }
  });

  it('of a volume without a zone is the parameter of its class', () => {
    const object = { storageClassName: 'c' } as Volume;
    const message =
      'its parameters do not contain availabilityZone, and no node has the label svc.io/zone; set availabilityZone in class "c", or label a node';
    const remedy = topologyUnsatisfied({ kind: 'Volume', object, world, message });
    expect(remedy.command).to.equal('kedge edit storageclass/c');
    expect(remedy.text).to.contain('set parameters.availabilityZone of storage class c');
    expect(remedy.text).to.match(
      /or label each node with its location: kedge label node\/\S+ svc.io\/zone=LOCATION/,
    );
  });

  it('of an instance whose room is reserved for another one says how long', () => {
    const object = { namespace: 'default', service: 'web', template: {} } as Instance;
    const full = 'node n has 0 of 2 cpu free, 2 is requested';
    const remedyText = (message: string) =>
      tooLittle({ kind: 'Instance', object, world, message }).text;
    expect(remedyText(full)).not.to.contain('15 minutes');
    expect(
      remedyText(
        `${full} (room is reserved for instance default/x-0, which waits for its volumes)`,
      ),
    ).to.contain('after at most 15 minutes if instance default/x-0 has not got its volumes');
  });
});
