import { expect } from 'chai';
import type { ClaimTemplate, Service } from '../../service/kind.js';
import type { Volume } from '../kind.js';
import { keptScaledAway } from './scaled-away.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

function serviceAt(scale: number, more: Partial<ClaimTemplate> = {}): Service {
  const claimTemplate = { size: '1Gi', accessMode: 'ReadWriteOnce' as const, ...more };
  const volumes = [{ name: 'data', mountPath: '/data', claimTemplate }];
  return { namespace: 'shop', name: 'db', scale, volumes, metadata };
}

function volumeOf(ordinal: number): Volume {
  return {
    namespace: 'shop',
    name: `data-db-${ordinal}`,
    storageClassName: 'c',
    size: '1Gi',
    accessMode: 'ReadWriteOnce',
    status: 'Available',
    ownerService: 'shop/db',
    metadata,
  };
}

describe('a volume whose replica was scaled away', () => {
  it('reports its replica, the reason why it is kept, and both remedies', () => {
    expect(keptScaledAway(volumeOf(2), serviceAt(1))).to.equal(
      'it belongs to replica 2 of service db, which has scale 1, and is kept because retention.whenScaled is retain: scale the service to 3 or more to use its data again, or: kedge delete volume data-db-2 -n shop',
    );
    expect(keptScaledAway(volumeOf(0), serviceAt(0)))
      .to.contain('replica 0')
      .and.contain('to 1 or');
  });

  it('reports nothing while its replica is desired, or if the volume is deleted with it', () => {
    expect(keptScaledAway(volumeOf(0), serviceAt(1)), 'wanted').to.equal(undefined);
    const goes = { retention: { whenScaled: 'delete' as const } };
    expect(keptScaledAway(volumeOf(2), serviceAt(1, goes)), 'goes').to.equal(undefined);
    expect(keptScaledAway(volumeOf(2), undefined), 'without its service').to.equal(undefined);
    const deletionRequestedAt = '2026-01-01T00:00:00Z';
    const deleting = { ...volumeOf(2), metadata: { ...metadata, deletionRequestedAt } };
    expect(keptScaledAway(deleting, serviceAt(1)), 'being deleted').to.equal(undefined);
    const other = { ...volumeOf(2), name: 'other-db-2' };
    expect(keptScaledAway(other, serviceAt(1)), 'of no template').to.equal(undefined);
  });
});
