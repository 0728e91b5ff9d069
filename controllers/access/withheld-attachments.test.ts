import { expect } from 'chai';
import { agentFinalizer } from '../instance/index.js';
import type { Attachment, Volume } from '../volume/kind.js';
import type { Node } from '../node/kind.js';
import {
  type VolumeFacts,
  withheldFinalizers,
  withheldOfNode,
  withheldOfVolume,
} from './withheld.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const mine: Attachment = { claim: 'default/a-0', node: 'near', state: 'Attached' };
const theirs: Attachment = { claim: 'default/b-0', node: 'far', state: 'Attached' };

function volume(fields: Partial<Volume>): Volume {
  const spec = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
  return { namespace: 'default', name: 'v', metadata, status: 'Available', ...spec, ...fields };
}

/** Returns the changed fields that the node `near` may not write. All claims belong to instances of this node. */
function refused(
  before: Partial<Volume>,
  after: Partial<Volume>,
  facts: Partial<VolumeFacts> = {},
): readonly string[] {
  const write = { node: 'near', before: volume(before), after: volume({ ...before, ...after }) };
  const found = withheldOfVolume(write, { owned: false, isClaimHere: () => true, ...facts });
  return found.map(({ field, description }) => `${field}: ${description}`);
}

describe('a status write by the node of a volume', () => {
  it('may add its attachment, report that the volume is bound, and remove the attachment', () => {
    expect(refused({}, { attachments: [mine] })).to.deep.equal([]);
    const bound = { status: 'Bound', boundClaim: mine.claim, boundNode: 'near' } as const;
    expect(refused({ attachments: [mine] }, { ...bound, formatted: true })).to.deep.equal([]);
    const free = { status: 'Available', attachments: [], boundClaim: '', boundNode: '' } as const;
    expect(refused({ ...bound, attachments: [mine] }, free)).to.deep.equal([]);
  });

  it('may not add an attachment to a ReadWriteOnce volume that is attached to another node', () => {
    const attachments = [theirs, mine];
    const [refusal, ...more] = refused({ attachments: [theirs] }, { attachments });
    expect(more).to.deep.equal([]);
    expect(refusal).to.contain("ReadWriteOnce and can't be attached for default/a-0 as well");
    const shared = { accessMode: 'ReadOnlyMany', attachments: [theirs] } as const;
    expect(refused(shared, { attachments })).to.deep.equal([]);
  });

  it('may not add an attachment to a volume that is being deleted, and may remove its own', () => {
    const deleting = { metadata: { ...metadata, deletionRequestedAt: '2026-01-01T00:00:00Z' } };
    const [refusal] = refused(deleting, { attachments: [mine] });
    expect(refusal).to.contain("the volume is being deleted and can't be attached for default/a-0");
    expect(refused({ ...deleting, attachments: [mine] }, { attachments: [] })).to.deep.equal([]);
  });

  it('may neither change nor remove attachments of another node', () => {
    const before = { accessMode: 'ReadOnlyMany', attachments: [theirs, mine] } as const;
    const changed: Attachment = { ...theirs, devicePath: '/dev/sda' };
    for (const attachments of [[mine], [changed, mine], [{ ...theirs, node: 'near' }, mine]])
      expect(refused(before, { attachments }).join()).to.contain(
        'node near is not permitted to change attachments of other nodes',
      );
  });

  it('may not revert an attachment that is being detached', () => {
    const detaching: Attachment = { ...mine, state: 'Detaching' };
    const [refusal] = refused({ attachments: [detaching] }, { attachments: [mine] });
    expect(refusal).to.contain("default/a-0 is being detached, which can't be reverted");
    expect(refused({ attachments: [detaching] }, { attachments: [] })).to.deep.equal([]);
  });

  it('may not set a volume to Available that is attached to another node', () => {
    const before = { status: 'Bound', attachments: [theirs, mine] } as const;
    const after = { status: 'Available', attachments: [theirs] } as const;
    const [refusal] = refused({ ...before, accessMode: 'ReadOnlyMany' }, after);
    expect(refusal).to.contain('it is attached for default/b-0 on node far');
  });

  it('may not reset formatted to false', () => {
    const [refusal] = refused({ formatted: true }, { formatted: false });
    expect(refusal).to.contain('a formatted device is never formatted again');
  });

  it('may change the status only between those of attaching', () => {
    expect(refused({ status: 'Released' }, { status: 'Available' })).to.have.length(1);
    expect(refused({ status: 'Available' }, { status: 'Released' })).to.have.length(1);
    expect(refused({ status: 'Bound' }, { status: 'Stalled' })).to.deep.equal([]);
  });

  it('may write handle and size only of a volume that no other node can access', () => {
    const after = { handle: 'h', sizeBytes: '1' };
    expect(refused({}, after, { owned: true })).to.deep.equal([]);
    expect(refused({}, after)).to.have.length(2);
    expect(refused({}, { driverParameters: { a: 'b' } }, { owned: true })).to.have.length(1);
  });
});

describe('a write of its own objects by a node', () => {
  const node = (fields: Partial<Node>): Node => ({ name: 'near', metadata, ...fields });
  const held = (...finalizers: readonly string[]) => ({
    ...node({}),
    metadata: { ...metadata, ...(finalizers.length > 0 ? { finalizers } : {}) },
  });

  it('may not change labels and unschedulable of the node, also when it creates the node', () => {
    for (const before of [undefined, node({})]) {
      expect(withheldOfNode(before, node({ labels: { zone: 'a' } }))).to.have.length(1);
      expect(withheldOfNode(before, node({ unschedulable: true }))).to.have.length(1);
      expect(withheldOfNode(before, node({ status: 'Ready' }))).to.deep.equal([]);
    }
    const closed = node({ unschedulable: true, labels: { zone: 'a' } });
    expect(withheldOfNode(closed, node({}))).to.have.length(2);
  });

  it("may remove its agent's finalizer, and no other", () => {
    const both = held('x/other', agentFinalizer);
    expect(withheldFinalizers(both, held('x/other'))).to.deep.equal([]);
    expect(withheldFinalizers(held(agentFinalizer), held())).to.deep.equal([]);
    for (const after of [held(), held(agentFinalizer), held('x/other', agentFinalizer, 'x/more')])
      expect(withheldFinalizers(both, after)).to.have.length(1);
  });
});
