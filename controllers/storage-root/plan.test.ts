import { expect } from 'chai';
import { planRoot, type RootPlan, type RootSituation } from './plan.js';

const uid = '0f6cbd92-1c31-4a3a-9c0e-111111111111';
const other = '0f6cbd92-1c31-4a3a-9c0e-222222222222';
const volume = { uid, label: 'volume default/data' };

function plan(situation: Partial<RootSituation>): RootPlan {
  const first = { path: '/data', clusterId: 'ours', recorded: false, placed: [] };
  return planRoot({ ...first, found: { type: 'absent' }, ...situation });
}
const unmarked = (...entries: string[]): RootSituation['found'] => ({ type: 'unmarked', entries });

describe('a storage root', () => {
  it('with the mark of the cluster is used, with another it is refused with both ids in the message', () => {
    expect(plan({ found: { type: 'marked', clusterId: 'ours' } })).to.deep.equal({ type: 'use' });
    const refused = plan({ found: { type: 'marked', clusterId: 'theirs' } });
    expect(refused).to.include({ type: 'refuse', reason: 'StorageRootOfOtherCluster' });
    expect(refused).to.have.property('message').that.contains('theirs').and.contains('ours');
  });

  it('is created at the first start only', () => {
    expect(plan({})).to.deep.equal({ type: 'make' });
    for (const situation of [{ recorded: true }, { placed: [volume] }]) {
      const refused = plan(situation);
      expect(refused).to.include({ type: 'refuse', reason: 'StorageRootMissing' });
      expect(refused).to.have.property('message').that.contains('mount its disk');
      expect(refused)
        .to.have.property('message')
        .that.contains('mkdir -p /data/.kedge && echo ours > /data/.kedge/cluster-id');
    }
  });

  it('without a mark is adopted once, if it contains the data which the store places there', () => {
    for (const entry of [uid, `${uid}.img`])
      expect(plan({ found: unmarked(entry, 'else'), placed: [volume] }).type).to.equal('adopt');
    const refused = [
      plan({ found: unmarked(uid), placed: [volume], recorded: true }),
      plan({ found: unmarked(uid), placed: [volume, { uid: other, label: 'volume default/b' }] }),
      plan({ found: unmarked(), placed: [volume] }),
    ];
    for (const one of refused)
      expect(one).to.include({ type: 'refuse', reason: 'StorageRootUnmarked' });
    expect(refused[1])
      .to.have.property('message')
      .that.contains('does not contain volume default/b');
  });

  it('without a mark is adopted if the store places nothing there and it contains no other data', () => {
    const ours = unmarked('lost+found', 'snapshots', uid, `.deleting-${uid}`, `.making-${uid}.img`);
    for (const found of [unmarked(), ours]) expect(plan({ found }).type).to.equal('adopt');
    const refused = plan({ found: unmarked('photos') });
    expect(refused)
      .to.have.property('message')
      .that.contains('"photos", which kedged did not create');
    expect(plan({ found: unmarked(), recorded: true }).type).to.equal('refuse');
  });

  it('a copy of a cluster does not adopt a directory with volumes that are none of its own', () => {
    for (const entry of [uid, `${uid}.img`, `.making-${uid}`]) {
      const found = { type: 'unmarked', entries: ['snapshots', entry] } as const;
      const situation = { path: '/data', clusterId: 'ours', found, recorded: false, placed: [] };
      expect(planRoot(situation).type).to.equal('adopt');
      expect(planRoot({ ...situation, copied: true })).to.include({
        type: 'refuse',
        reason: 'StorageRootUnmarked',
      });
    }
  });
});
