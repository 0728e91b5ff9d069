import { expect } from 'chai';
import { ownerOf } from '../../provisioned/owner.js';
import type { Attachment, Volume } from '../kind.js';
import { withoutReserved } from './nodes-of-volume.js';

describe('the owner of a volume at a forced detach', () => {
  const leaving: Attachment = { claim: 'default/a-0', node: 'a', state: 'Detaching' };
  const ownerWith = (on: string, node?: string) => {
    const reserved: Attachment = { claim: 'default/b-0', node: on, state: 'Reserved' };
    return ownerOf(
      withoutReserved({ attachments: [leaving, reserved] } as unknown as Volume, node),
    );
  };

  it('is the controller while another node attaches the volume', () => {
    for (const node of [undefined, 'a'])
      expect(ownerWith('b', node)).to.deep.equal({ type: 'controller', underWay: [] });
  });

  it('is the same node if it attaches the volume again before the call', () => {
    expect(ownerWith('a', 'a')).to.deep.equal({ type: 'node', node: 'a', because: 'attached' });
    // Without a call: its old attachment is removed from the status.
    expect(ownerWith('a')).to.deep.equal({ type: 'controller', underWay: [] });
  });
});
