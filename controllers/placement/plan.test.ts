import { expect } from 'chai';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import { placeInstance } from './plan.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

describe('the node of an instance', () => {
  const node = (name: string, more: Partial<Node> = {}): Node => ({
    name,
    status: 'Ready',
    metadata,
    ...more,
  });
  const wants = (nodeSelector: Record<string, string>): Instance => ({
    name: 'i',
    namespace: 'default',
    service: 's',
    ordinal: 0,
    template: { nodeSelector },
    metadata,
  });

  it('is a ready, schedulable node that matches; if there is none, the reason is returned', () => {
    const all = [
      node('a', { status: 'NotReady' }),
      node('b', { unschedulable: true }),
      node('c'),
      node('d', { labels: { 'svc.io/zone': 'z' } }),
    ];
    expect(placeInstance(wants({}), all)).to.deep.equal({ type: 'node', node: 'c' });
    expect(placeInstance(wants({ 'svc.io/zone': 'z' }), all)).to.deep.equal({
      type: 'node',
      node: 'd',
    });
    const none = placeInstance(wants({ 'svc.io/zone': 'y' }), all);
    expect(none.type === 'none' && none.message).to.contain('svc.io/zone=y');
  });
});
