import { expect } from 'chai';
import { DriverError, type DriverErrorKind, errorClasses } from '@kedge/driver-sdk';
import { classifyFailure } from '../../provisioned/failure.js';
import type { StorageClass } from '../../storage-class/kind.js';
import type { Volume, VolumePhase } from '../kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { nextPhase, transitions } from './phases.js';
import { effectivePolicy, planVolume, type VolumeSituation } from './plan.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const storageClass: StorageClass = {
  name: 'c',
  driver: 'local',
  reclaimPolicy: 'delete',
  metadata,
};

function situation(
  volume: Partial<Volume> & { readonly deleting?: boolean },
  more: Partial<VolumeSituation> = {},
): VolumeSituation {
  const { deleting, ...fields } = volume;
  return {
    volume: {
      name: 'v',
      namespace: 'default',
      storageClassName: 'c',
      size: '1Gi',
      sizeBytes: '1073741824',
      accessMode: 'ReadWriteOnce',
      metadata: deleting ? { ...metadata, deletionRequestedAt: 'now' } : metadata,
      ...fields,
    },
    storageClass,
    owner: 'wanted',
    inputs: 'now',
    probeDue: false,
    ...more,
  };
}

const attachments = [{ claim: 'default/i', node: 'n', state: 'Attached' }] as const;

describe('volume plan', () => {
  const table: readonly [string, VolumeSituation, string][] = [
    ['V3 Pending starts', situation({ status: 'Pending' }), 'startProvisioning'],
    ['Provisioning continues after a crash', situation({ status: 'Provisioning' }), 'provision'],
    [
      'V9 deletion during provisioning completes the provisioning first',
      situation({ status: 'Provisioning', deleting: true }),
      'provision',
    ],
    [
      'deletion of a Pending volume calls no driver',
      situation({ status: 'Pending', deleting: true }),
      'forget',
    ],
    [
      'V29 deletion of a Stalled volume observes first',
      situation({ status: 'Stalled', deleting: true }),
      'observe',
    ],
    [
      'deletion waits for the instance that uses it',
      situation({ status: 'Bound', deleting: true, attachments }),
      'waitForUsers',
    ],
    [
      'V23 policy delete reclaims',
      situation({ status: 'Available', deleting: true, handle: 'h' }),
      'reclaim',
    ],
    [
      'V25 policy retain removes the object without a driver call',
      situation({ status: 'Released', deleting: true, handle: 'h', reclaimPolicy: 'retain' }),
      'forget',
    ],
    [
      'deletion of a Failed volume for which no driver was called calls none',
      situation({ status: 'Failed', deleting: true }),
      'forget',
    ],
    [
      'deletion of a Failed volume for which a driver was called calls it, regardless of the policy',
      situation({ status: 'Failed', deleting: true, driver: 'local', reclaimPolicy: 'retain' }),
      'reclaim',
    ],
    [
      'V22 owner gone before a driver was called: it is removed too',
      situation({ status: 'Failed', ownerService: 'default/s' }, { owner: 'gone' }),
      'abandon',
    ],
    [
      'V22 owner gone while it is lost: its handle is kept',
      situation({ status: 'Failed', handle: 'h', ownerService: 'default/s' }, { owner: 'gone' }),
      'release',
    ],
    [
      'Failed with the same inputs waits',
      situation({ status: 'Failed', failedWith: 'now' }),
      'recheckLater',
    ],
    [
      'V27 a Failed volume with a handle whose failure was not recorded is probed',
      situation({ status: 'Failed', handle: 'h' }),
      'probe',
    ],
    [
      'a Failed volume with a handle and a recorded failure waits',
      situation({ status: 'Failed', handle: 'h', failedWith: 'old' }),
      'recheckLater',
    ],
    [
      'V27 a lost volume is probed when that is due, regardless of earlier failures',
      situation(
        { status: 'Failed', handle: 'h', failedWith: 'old', reason: 'VolumeLost' },
        { probeDue: true },
      ),
      'probe',
    ],
    [
      'V10 Failed is retried when its inputs have changed',
      situation({ status: 'Failed', failedWith: 'old' }),
      'startProvisioning',
    ],
    [
      'V22 owner gone releases',
      situation({ status: 'Available', ownerService: 'default/s' }, { owner: 'gone' }),
      'release',
    ],
    [
      'owner gone but still attached: not yet',
      situation({ status: 'Bound', ownerService: 'default/s', attachments }, { owner: 'gone' }),
      'none',
    ],
    [
      'V26 owner recreated: it is no longer Released',
      situation({ status: 'Released', ownerService: 'default/s', handle: 'h' }),
      'takeBack',
    ],
    [
      'Released with policy delete and no owner reclaims',
      situation({ status: 'Released', ownerService: 'default/s', handle: 'h' }, { owner: 'gone' }),
      'reclaim',
    ],
    [
      'Released with policy delete waits while its service is being deleted, which may override that',
      situation(
        { status: 'Released', ownerService: 'default/s', handle: 'h' },
        { owner: 'leaving' },
      ),
      'none',
    ],
    [
      'a volume without an owner service stays',
      situation({ status: 'Available' }, { owner: 'gone' }),
      'none',
    ],
    ['V30 a larger size expands', situation({ status: 'Available', size: '2Gi' }), 'expand'],
  ];
  for (const [name, given, expected] of table)
    it(name, () => {
      expect(planVolume(given).type).to.equal(expected);
    });

  it('has an answer for every phase, deleted or not', () => {
    const named = transitions.flatMap((t) => [t.from, t.to]);
    const phases = new Set(named.filter((phase): phase is VolumePhase => phase !== 'None'));
    expect(phases.size).to.equal(7);
    for (const status of phases)
      for (const deleting of [true, false])
        expect(planVolume(situation({ status, deleting })).type).to.be.a('string');
  });

  it('the policy is that of the volume, else the captured one, else that of the class', () => {
    const volume = situation({}).volume;
    expect(effectivePolicy({ ...volume, reclaimPolicy: 'retain' }, storageClass)).to.equal(
      'retain',
    );
    expect(effectivePolicy({ ...volume, effectiveReclaimPolicy: 'retain' }, storageClass)).to.equal(
      'retain',
    );
    expect(effectivePolicy(volume, storageClass)).to.equal('delete');
    expect(effectivePolicy(volume, undefined)).to.equal('retain');
  });

  it('V4, V5, V7, V8: the class of a failure determines the event, and every possible phase knows the event', () => {
    const judge = (kind: DriverErrorKind, attempts = 1) =>
      classifyFailure(new DriverError(kind, 'words'), attempts, defaultPolicy, true).event;
    expect(judge('InvalidParameters')).to.equal('failedForGood');
    expect(judge('Unavailable')).to.equal('failedForNow');
    expect(judge('Throttled', 10)).to.equal('attemptsSpent');
    expect(judge('Timeout', 10)).to.equal('outcomeUnknown');
    const invalid = new DriverError('InvalidParameters', 'words');
    const { message } = classifyFailure(invalid, 1, defaultPolicy, true);
    expect(message).to.equal('InvalidParameters: words');
    const once = { ...defaultPolicy, driverAttemptsMax: 1 };
    const { event } = classifyFailure(new DriverError('Throttled', 'words'), 1, once, true);
    expect(event).to.equal('attemptsSpent');
    for (const kind of Object.keys(errorClasses) as DriverErrorKind[])
      for (const attempts of [1, 10])
        expect(nextPhase('Provisioning', judge(kind, attempts))).to.be.a('string');
    // A missing class is detected before the driver is called, so the volume is not Provisioning yet.
    for (const phase of ['Pending', 'Failed'] as const)
      expect(nextPhase(phase, 'failedForGood')).to.equal('Failed');
  });

  it('V7: a deleted volume is not retried after a refusal, but after a call that was cut off', () => {
    const judge = (kind: DriverErrorKind) =>
      classifyFailure(new DriverError(kind, 'words'), 1, defaultPolicy, false).event;
    for (const kind of ['QuotaExceeded', 'Throttled', 'InUse'] as const)
      expect(judge(kind)).to.equal('attemptsSpent');
    for (const kind of ['Unavailable', 'Internal'] as const)
      expect(judge(kind)).to.equal('failedForNow');
    expect(judge('Timeout')).to.equal('outcomeUnknown');
  });

  it('an event that a phase does not have is refused', () => {
    // @ts-expect-error the phase Released has no such event
    expect(() => nextPhase('Released', 'bound')).to.throw('Released');
    const either = (phase: 'Released' | 'Bound') =>
      // @ts-expect-error only one of the two phases has this event
      nextPhase(phase, 'unbound');
    expect(() => either('Released')).to.throw('Released');
    expect(nextPhase('Bound', 'unbound')).to.equal('Available');
  });
});
