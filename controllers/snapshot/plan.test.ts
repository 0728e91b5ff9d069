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
    ['S4 continues after a crash', situation({ status: 'Creating' }), 'create'],
    [
      'S7 is retried when the inputs of its failure have changed',
      situation({ status: 'Failed', failedWith: 'then' }),
      'retry',
    ],
    [
      'S7 is not retried with the same inputs',
      situation({ status: 'Failed', failedWith: 'now' }),
      'none',
    ],
    [
      'S7 one with a handle is never created again',
      situation({ status: 'Failed', handle: 'h', failedWith: 'then' }),
      'none',
    ],
    [
      'S8 a Pending one is removed without a driver call',
      situation({ status: 'Pending', deleting: true }),
      'forget',
    ],
    [
      'S8 a Pending one is deleted by its driver if an earlier attempt called it',
      situation({ status: 'Pending', driver: 'd', deleting: true }),
      'startDeleting',
    ],
    [
      'S9 a deletion during its creation completes the creation first',
      situation({ status: 'Creating', deleting: true }),
      'create',
    ],
    [
      'S8 a Failed one for which no driver was called is removed without a driver call',
      situation({ status: 'Failed', deleting: true }),
      'forget',
    ],
    [
      'S10 deletes a Ready one',
      situation({ status: 'Ready', handle: 'h', deleting: true }),
      'startDeleting',
    ],
    [
      'S10 waits while a volume is restored from it',
      situation({ status: 'Ready', deleting: true, restoresInFlight: ['x'] }),
      'waitForRestores',
    ],
    [
      'S12 a failed deletion is retried',
      situation({ status: 'Failed', handle: 'h', deleting: true }),
      'startDeleting',
    ],
    [
      'S11 continues its deletion',
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
      'S10 deletes the possible result of a creation without a handle, also under retain',
      situation({ status: 'Failed', driver: 'd', reclaimPolicy: 'retain', deleting: true }),
      'startDeleting',
    ],
    [
      'S10 retries that under retain after Unavailable',
      situation({ ...refused('Unavailable'), status: 'Failed' }),
      'startDeleting',
    ],
    [
      'S14 is removed under retain once the provider rejects the credential',
      situation({ ...refused('CredentialsRejected'), status: 'Failed' }),
      'forget',
    ],
    [
      'S14 is removed under retain once the provider denies its deletion',
      situation({ ...refused('PermissionDenied'), status: 'Failed' }),
      'forget',
    ],
    [
      'S14 is removed under retain once the driver refuses its parameters',
      situation({ ...refused('InvalidParameters'), status: 'Failed' }),
      'forget',
    ],
    [
      'S11 continues under retain while a call may be deleting the copy',
      situation({ ...refused('Timeout'), status: 'Deleting', handle: 'h' }),
      'delete',
    ],
    [
      'S14 is removed under retain if the call had no credential',
      situation({ ...refused('Unavailable', noCredential), status: 'Deleting' }),
      'forget',
    ],
    [
      'S11 continues without a credential while a call is open',
      situation(
        { ...refused('Unavailable', noCredential), status: 'Deleting' },
        { hasOpenCall: true },
      ),
      'delete',
    ],
    [
      'S14 keeps the copy under retain if no deletion had a credential',
      situation({ ...refused('Unavailable', noCredential), status: 'Deleting', handle: 'h' }),
      'forget',
    ],
    [
      'S11 continues without a credential while the copy is being deleted',
      situation(
        { ...refused('Unavailable', noCredential), status: 'Deleting', handle: 'h' },
        { hasOpenCall: true },
      ),
      'delete',
    ],
    [
      'S10 continues without permission while the copy is being deleted',
      situation(
        { ...refused('PermissionDenied'), status: 'Failed', handle: 'h' },
        { hasOpenCall: true },
      ),
      'startDeleting',
    ],
    [
      'S10 continues with a rejected credential while the copy is being deleted',
      situation(
        { ...refused('CredentialsRejected'), status: 'Failed', handle: 'h' },
        { hasOpenCall: true },
      ),
      'startDeleting',
    ],
    [
      'S13 a Ready one is probed when that is due',
      situation({ status: 'Ready' }, { probeDue: true }),
      'probe',
    ],
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
