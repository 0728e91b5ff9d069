import { expect } from 'chai';
import type { Attachment, Volume } from '../volume/kind.js';
import { homeOf, nodesOf, ownerOf } from './owner.js';

type Placed = Pick<Volume, 'topology' | 'attachments'>;

function held(node: string, state: Attachment['state'], claim = node): Attachment {
  return { claim: `default/${claim}`, node, state };
}

const home = { topology: { 'svc.io/node': 'a' } };
const zone = { topology: { 'svc.io/zone': 'z' } };
const controller = { type: 'controller', underWay: [] } as const;
const placed = { type: 'node', node: 'a', because: 'placed' } as const;
const attached = { type: 'node', node: 'a', because: 'attached' } as const;

describe('the owner of a volume', () => {
  const rows: readonly (readonly [string, Placed, object])[] = [
    ['without attachments: the volume controller', zone, controller],
    ['its data is on a node: that node', home, placed],
    [
      'its data is on a node: that node, also if it is attached to another one',
      { ...home, attachments: [held('b', 'Attached')] },
      placed,
    ],
    [
      'its data is on a node: that node, also while it is force-detached',
      { ...home, attachments: [held('a', 'Detaching')] },
      placed,
    ],
    [
      'reserved by one node: that node',
      { ...zone, attachments: [held('a', 'Reserved')] },
      attached,
    ],
    [
      'attached to one node, twice: that node',
      { attachments: [held('a', 'Attached'), held('a', 'Detaching', 'x')] },
      attached,
    ],
    [
      'being force-detached: the volume controller',
      { attachments: [held('a', 'Detaching')] },
      controller,
    ],
    [
      'attached to two nodes: the volume controller',
      { attachments: [held('a', 'Attached'), held('b', 'Attached')] },
      controller,
    ],
    [
      'being force-detached from one of two nodes: the volume controller, which detaches it',
      { attachments: [held('a', 'Detaching'), held('b', 'Attached')] },
      controller,
    ],
    [
      'reserved by one of two nodes: the volume controller, which waits for its attach',
      { attachments: [held('a', 'Attached'), held('b', 'Reserved')] },
      { type: 'controller', underWay: [held('b', 'Reserved')] },
    ],
  ];
  for (const [what, volume, owner] of rows)
    it(what, () => {
      expect(ownerOf(volume)).to.deep.equal(owner);
    });

  it('concerns the node of the data and those to which it is attached', () => {
    expect(
      nodesOf({ ...home, attachments: [held('b', 'Attached'), held('b', 'Reserved', 'x')] }),
    ).to.deep.equal(['a', 'b']);
    expect(nodesOf(zone)).to.deep.equal([]);
    expect([homeOf(home), homeOf(zone), homeOf({})]).to.deep.equal(['a', undefined, undefined]);
  });
});
