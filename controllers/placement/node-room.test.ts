import { expect } from 'chai';
import type { Instance, InstanceTemplate } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import { placeInstance } from './plan.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

function node(name: string, capacity?: Record<string, string>): Node {
  return { name, status: 'Ready', metadata, ...(capacity && { capacity }) };
}

function instance(name: string, template: InstanceTemplate, on?: string): Instance {
  const [service = '', ordinal = '0'] = name.split('-');
  const base = { name, namespace: 'default', service, ordinal: Number(ordinal), metadata };
  return { ...base, template, ...(on !== undefined && { node: on }) };
}

const cpu = (request: string): InstanceTemplate => ({ resources: { cpu: { request } } });
const port = (hostPort: number, protocol?: 'UDP'): InstanceTemplate => ({
  ports: [{ name: 'p', port: 80, hostPort, ...(protocol && { protocol }) }],
});

function place(
  template: InstanceTemplate,
  nodes: readonly Node[],
  placed: readonly Instance[] = [],
) {
  return placeInstance(instance('new-0', template), nodes, [], ({ name }) =>
    placed.filter((each) => each.node === name),
  );
}

describe('room on nodes', () => {
  const small = { cpu: '1', memory: '1048576Ki', pids: '100' };
  const large = { cpu: '4', memory: '8388608Ki', pids: '1000' };

  it('the node that is least full by requests is chosen, up to the last thousandth of a processor', () => {
    const both = [node('a', small), node('b', large)];
    expect(place(cpu('500m'), both)).to.deep.equal({ type: 'node', node: 'b' });
    const placed = [instance('x-0', cpu('3500m'), 'b')];
    expect(place(cpu('500m'), both, placed)).to.deep.equal({ type: 'node', node: 'a' });
    const full = [...placed, instance('y-0', cpu('1'), 'a')];
    expect(place(cpu('500m'), both, full)).to.deep.equal({ type: 'node', node: 'b' });
    expect(place(cpu('501m'), both, full)).to.deep.equal({
      type: 'none',
      reason: 'InsufficientResources',
      message:
        '2 of 2 nodes are ready, 2 of them schedulable, but node a has 0 of 1 cpu free, 501m is requested; node b has 500m of 4 cpu free, 501m is requested',
    });
  });

  it('every lacking resource is reported', () => {
    const template = { resources: { memory: { limit: '3Gi' }, pids: 200 } };
    const placed = [instance('x-0', { resources: { memory: { request: '100Mi' } } }, 'a')];
    const found = place(template, [node('a', small)], placed);
    expect(found.type === 'none' && found.message).to.include(
      'node a has 924Mi of 1Gi memory free, 3Gi is requested and 100 of 100 pids free, 200 is requested',
    );
  });

  it('a node that reports no capacity takes any request, and an instance without requests gets the first node by name', () => {
    expect(place(cpu('100'), [node('a')])).to.deep.equal({ type: 'node', node: 'a' });
    const full = [instance('x-0', cpu('1'), 'a')];
    const nodes = [node('b', large), node('a', small)];
    expect(place({}, nodes, full)).to.deep.equal({ type: 'node', node: 'a' });
  });

  it('a port of a node is given once, by protocol, also to workloads that listen there themselves', () => {
    const nodes = [node('a', small)];
    const placed = [instance('web-0', port(8080), 'a')];
    expect(place(port(8080), nodes, placed)).to.deep.equal({
      type: 'none',
      reason: 'HostPortTaken',
      message:
        '1 of 1 nodes are ready, 1 of them schedulable, but port 8080/TCP of node a is taken by instance default/web-0',
    });
    expect(place(port(8081), nodes, placed).type).to.equal('node');
    expect(place(port(8080, 'UDP'), nodes, placed).type).to.equal('node');
    const own: InstanceTemplate = { runtime: 'process', ports: [{ name: 'p', port: 8080 }] };
    expect(place(own, nodes, placed).type).to.equal('none');
    expect(place({ ...own, runtime: 'container' }, nodes, placed).type).to.equal('node');
  });
});
