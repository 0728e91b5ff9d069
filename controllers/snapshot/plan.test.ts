import { expect } from 'chai';
import type { Volume } from '../volume/kind.js';
import type { Snapshot, SnapshotPhase } from './kind.js';
import { nextPhase, transitions } from './phases.js';
import { planSnapshot, type SnapshotSituation } from './plan.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const source: Volume = {
  name: 'v',
  namespace: 'default',
  storageClassName: 'c',
  size: '1Gi',
  accessMode: 'ReadWriteOnce',
  status: 'Available',
  handle: 'h',
  metadata,
};

function situation(
  snapshot: Partial<Snapshot> & { readonly deleting?: boolean },
  more: Partial<SnapshotSituation> = {},
): SnapshotSituation {
  const { deleting, ...fields } = snapshot;
  return {
    snapshot: {
      name: 's',
      namespace: 'default',
      source: { volume: 'v' },
      metadata: deleting ? { ...metadata, deletionRequestedAt: 'now' } : metadata,
      ...fields,
    },
    source,
    inputs: 'now',
    probeDue: false,
    hasOpenCall: false,
    ...more,
  };
}

const noCredential = 'the class has no accessKeyId, and nothing answers';

/** One that is being deleted under retain, after a deletion call with this answer. */
function refused(outcome: string, message = ''): Partial<Snapshot> & { readonly deleting: true } {
  const call = { call: 'deleteSnapshot', startedAt: '', nextTryAt: '' } as const;
  const lastOperation = { ...call, outcome, message };
  return { driver: 'd', reclaimPolicy: 'retain', lastOperation, deleting: true };
}

describe('snapshot plan', () => {
  it('S2 reports why its source is not available', () => {
    const failed: Volume = { ...source, status: 'Failed', failureMessage: 'quota exceeded' };
    expect(planSnapshot(situation({}, { source: failed }))).to.deep.include({
      message:
        'volume "default/v" is Failed: quota exceeded; the snapshot is created once the volume is provisioned',
    });
  });

  const table: readonly [string, SnapshotSituation, string][] = [
    ['S2 waits for a source that is gone', situation({}, { source: undefined }), 'wait'],
    [
      'S2 waits for a source that is Stalled',
      situation({}, { source: { ...source, status: 'Stalled' } }),
      'wait',
    ],
    [
      'S2 waits for a source being deleted',
      situation(
        {},
        { source: { ...source, metadata: { ...metadata, deletionRequestedAt: 'now' } } },
      ),
      'wait',
    ],
    ['S3 starts on an Available source', situation({ status: 'Pending' }), 'start'],
    [
      'S3 starts on a Bound source',
      situation({}, { source: { ...source, status: 'Bound' } }),
      'start',
    ],
    [
      'S3 starts on a Released source',
      situation({}, { source: { ...source, status: 'Released' } }),
      'start',
    ],
    ['S4 goes on after a crash', situation({ status: 'Creating' }), 'create'],
    [
      'S7 is tried again when what it failed with changes',
      situation({ status: 'Failed', failedWith: 'then' }),
      'retry',
    ],
    [
      'S7 is not tried again without that',
      situation({ status: 'Failed', failedWith: 'now' }),
      'none',
    ],
    [
      'S7 one with a handle is never created again',
      situation({ status: 'Failed', handle: 'h', failedWith: 'then' }),
      'none',
    ],
    ['S8 a Pending one is forgotten', situation({ status: 'Pending', deleting: true }), 'forget'],
    [
      'S8 after a retry what a try left is looked up',
      situation({ status: 'Pending', driver: 'd', deleting: true }),
      'startDeleting',
    ],
    [
      'S9 deletion while it is made finishes it first',
      situation({ status: 'Creating', deleting: true }),
      'create',
    ],
    [
      'S8 a Failed one that no driver was asked to make is forgotten',
      situation({ status: 'Failed', deleting: true }),
      'forget',
    ],
    [
      'S10 deletes a Ready one',
      situation({ status: 'Ready', handle: 'h', deleting: true }),
      'startDeleting',
    ],
    [
      'S10 not while a volume is made from it',
      situation({ status: 'Ready', deleting: true, restoresInFlight: ['x'] }),
      'waitForRestores',
    ],
    [
      'S12 a failed deletion is tried again',
      situation({ status: 'Failed', handle: 'h', deleting: true }),
      'startDeleting',
    ],
    [
      'S11 goes on deleting',
      situation({ status: 'Deleting', driver: 'd', deleting: true }),
      'delete',
    ],
    [
      'S14 keeps the copy of a Ready one under retain',
      situation({ status: 'Ready', handle: 'h', reclaimPolicy: 'retain', deleting: true }),
      'forget',
    ],
    [
      'S14 keeps the copy after a deletion that failed under retain',
      situation({ ...refused('PermissionDenied'), status: 'Failed', handle: 'h' }),
      'forget',
    ],
    [
      'S10 looks for what a creation without a handle left, also under retain',
      situation({ status: 'Failed', driver: 'd', reclaimPolicy: 'retain', deleting: true }),
      'startDeleting',
    ],
    [
      'S10 looks for it until the driver refuses its parameters or the credential',
      situation({ ...refused('Unavailable'), status: 'Failed' }),
      'startDeleting',
    ],
    [
      'S14 leaves it under retain once the provider rejects the credential',
      situation({ ...refused('CredentialsRejected'), status: 'Failed' }),
      'forget',
    ],
    [
      'S14 leaves it under retain once the provider denies its deletion',
      situation({ ...refused('PermissionDenied'), status: 'Failed' }),
      'forget',
    ],
    [
      'S14 leaves it under retain once the driver refuses its parameters',
      situation({ ...refused('InvalidParameters'), status: 'Failed' }),
      'forget',
    ],
    [
      'S11 goes on under retain while a call may delete the copy',
      situation({ ...refused('Timeout'), status: 'Deleting', handle: 'h' }),
      'delete',
    ],
    [
      'S14 leaves it under retain if it never had a credential',
      situation({ ...refused('Unavailable', noCredential), status: 'Deleting' }),
      'forget',
    ],
    [
      'S11 goes on without a credential while something may be at the provider',
      situation(
        { ...refused('Unavailable', noCredential), status: 'Deleting' },
        { hasOpenCall: true },
      ),
      'delete',
    ],
    [
      'S14 leaves the copy under retain if no deletion had a credential',
      situation({ ...refused('Unavailable', noCredential), status: 'Deleting', handle: 'h' }),
      'forget',
    ],
    [
      'S11 goes on without a credential while the copy is being deleted',
      situation(
        { ...refused('Unavailable', noCredential), status: 'Deleting', handle: 'h' },
        { hasOpenCall: true },
      ),
      'delete',
    ],
    [
      'S10 goes on without a right while the copy is being deleted',
      situation(
        { ...refused('PermissionDenied'), status: 'Failed', handle: 'h' },
        { hasOpenCall: true },
      ),
      'startDeleting',
    ],
    [
      'S10 goes on with a rejected credential while the copy is being deleted',
      situation(
        { ...refused('CredentialsRejected'), status: 'Failed', handle: 'h' },
        { hasOpenCall: true },
      ),
      'startDeleting',
    ],
    ['S13 is looked after', situation({ status: 'Ready' }, { probeDue: true }), 'probe'],
  ];
  for (const [name, given, expected] of table)
    it(name, () => {
      expect(planSnapshot(given).type).to.equal(expected);
    });

  it('has an answer for every phase, deleted or not', () => {
    const named = transitions.flatMap((t) => [t.from, t.to]);
    const phases = new Set(named.filter((phase): phase is SnapshotPhase => phase !== 'None'));
    expect(phases.size).to.equal(5);
    for (const status of phases)
      for (const deleting of [true, false])
        expect(planSnapshot(situation({ status, deleting })).type).to.be.a('string');
  });

  it('an event that a phase does not have is refused', () => {
    // @ts-expect-error the phase Ready has no such event
    expect(() => nextPhase('Ready', 'completed')).to.throw('Ready');
    expect(nextPhase('Creating', 'completed')).to.equal('Ready');
  });
});
