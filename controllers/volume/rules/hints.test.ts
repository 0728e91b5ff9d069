import { expect } from 'chai';
import type { Volume } from '../kind.js';
import { volumeHints } from './hints.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const failed: Volume = {
  name: 'v',
  namespace: 'default',
  storageClassName: 'c',
  size: '1Gi',
  accessMode: 'ReadWriteOnce',
  status: 'Failed',
  metadata,
};
const deleting = { metadata: { ...metadata, deletionRequestedAt: 'now' } };
const facts = { hasClass: true, waitsFor: undefined, keptBecause: undefined };

describe('hints of a volume', () => {
  it('name the retry only for one that may be made again', () => {
    const retry = 'kedge volume retry-provision v -n default';
    expect(volumeHints(failed, facts).join()).to.contain(retry);
    for (const volume of [
      { ...failed, handle: 'h' },
      { ...failed, ...deleting },
      { ...failed, ...deleting, handle: 'h' },
    ])
      expect(volumeHints(volume, facts).join()).to.not.contain('retry-provision');
  });

  it('name the policy that lets a volume go whose data can not be deleted, where it has data', () => {
    expect(volumeHints({ ...failed, ...deleting, handle: 'h' }, facts).join())
      .to.contain('its deletion is tried again by itself')
      .and.to.contain('reclaimPolicy to retain');
    expect(volumeHints({ ...failed, ...deleting }, facts).join()).to.not.contain('retain');
  });

  it('tell what its deletion waits for', () => {
    expect(volumeHints({ ...failed, status: 'Available' }, { ...facts, waitsFor: 'why' })).to.eql([
      'why',
    ]);
  });
});
