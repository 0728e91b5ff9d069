import type { VolumePhase } from '@kedge/api/kinds';
import {
  type EventFrom,
  type Reached,
  transitionTable,
} from '../../provisioned/transition-table.js';

/**
 * The transitions of a volume as data: the table V1 to V31, which is also the `states` of the kind. The store
 * refuses all other transitions, and they do not compile in controllers. `then` describes the effect; the
 * operators' guide is checked against this table.
 */
export const transitions = [
  { id: 'V1', from: 'None', event: 'created', to: 'Pending', then: 'attempts 0' },
  {
    id: 'V2',
    from: 'Pending',
    event: 'waits',
    to: 'Pending',
    then: 'a condition says for what: a node in allowedTopologies, a snapshot that is not Ready',
  },
  {
    id: 'V3',
    from: 'Pending',
    event: 'resolved',
    to: 'Provisioning',
    then: 'the intent is stored before the driver is called',
  },
  {
    id: 'V4',
    from: 'Pending',
    event: 'failedForGood',
    to: 'Failed',
    then: 'failureMessage says why',
  },
  {
    id: 'V4',
    from: 'Provisioning',
    event: 'failedForGood',
    to: 'Failed',
    then: 'failureMessage says why',
  },
  {
    id: 'V4',
    from: 'Failed',
    event: 'failedForGood',
    to: 'Failed',
    then: 'failureMessage says why',
  },
  {
    id: 'V5',
    from: 'Provisioning',
    event: 'failedForNow',
    to: 'Provisioning',
    then: 'attempts + 1, backoff, the same identity again',
  },
  {
    id: 'V6',
    from: 'Provisioning',
    event: 'provisioned',
    to: 'Available',
    then: 'handle, size and driverParameters are captured',
  },
  {
    id: 'V7',
    from: 'Provisioning',
    event: 'attemptsSpent',
    to: 'Failed',
    then: 'failureMessage holds the last error',
  },
  {
    id: 'V8',
    from: 'Provisioning',
    event: 'outcomeUnknown',
    to: 'Stalled',
    then: 'the provider is observed until it is known',
  },
  {
    id: 'V9',
    from: 'Provisioning',
    event: 'deletionRequested',
    to: 'Provisioning',
    then: 'to a known outcome first, so that nothing leaks',
  },
  {
    id: 'V10',
    from: 'Failed',
    event: 'rearmed',
    to: 'Provisioning',
    then: 'by a change of volume, class or secret, by hand, or after 15 minutes; attempts 0',
  },
  {
    id: 'V11',
    from: 'Available',
    event: 'bound',
    to: 'Bound',
    then: 'reserved before the driver is called; boundClaim and boundNode are set',
  },
  {
    id: 'V12',
    from: 'Available',
    event: 'attachRejected',
    to: 'Available',
    then: 'the instance waits with the error and tries again for ever',
  },
  {
    id: 'V13',
    from: 'Available',
    event: 'attachUnknown',
    to: 'Stalled',
    then: 'the attachment is kept until the node observes the outcome',
  },
  {
    id: 'V14',
    from: 'Bound',
    event: 'bound',
    to: 'Bound',
    then: 'found mounted after a restart: kept',
  },
  {
    id: 'V15',
    from: 'Bound',
    event: 'unbound',
    to: 'Available',
    then: 'boundClaim and boundNode are cleared',
  },
  {
    id: 'V17',
    from: 'Bound',
    event: 'tearDownFailed',
    to: 'Bound',
    then: 'logged; adopted at the next start',
  },
  {
    id: 'V18',
    from: 'Bound',
    event: 'detachUnknown',
    to: 'Stalled',
    then: 'boundNode is kept: no attach elsewhere',
  },
  {
    id: 'V19',
    from: 'Bound',
    event: 'nodeLost',
    to: 'Bound',
    then: 'kept until the node is known to be down, or detach with force',
  },
  {
    id: 'V20',
    from: 'Stalled',
    event: 'provisioned',
    to: 'Available',
    then: 'the provider shows it',
  },
  {
    id: 'V20',
    from: 'Stalled',
    event: 'bound',
    to: 'Bound',
    then: 'the node shows it attached',
  },
  {
    id: 'V20',
    from: 'Stalled',
    event: 'unbound',
    to: 'Available',
    then: 'the node shows it detached',
  },
  {
    id: 'V21',
    from: 'Stalled',
    event: 'observedAbsent',
    to: 'Provisioning',
    then: 'the provider does not have it: again',
  },
  {
    id: 'V22',
    from: 'Available',
    event: 'ownerGone',
    to: 'Released',
    then: 'not while a snapshot is being made',
  },
  {
    id: 'V22',
    from: 'Failed',
    event: 'ownerGone',
    to: 'Released',
    then: 'not while a snapshot is being made',
  },
  {
    id: 'V22',
    from: 'Pending',
    event: 'forgotten',
    to: 'None',
    then: 'deleted, or its service is gone, before a driver was asked: nothing to retain',
  },
  {
    id: 'V23',
    from: 'Released',
    event: 'deleted',
    to: 'None',
    then: 'the driver says it is gone; the finalizer goes last',
  },
  {
    id: 'V23',
    from: 'Available',
    event: 'deleted',
    to: 'None',
    then: 'the driver says it is gone; the finalizer goes last',
  },
  {
    id: 'V23',
    from: 'Failed',
    event: 'deleted',
    to: 'None',
    then: 'the driver says it is gone; the finalizer goes last',
  },
  {
    id: 'V24',
    from: 'Released',
    event: 'deleteFailed',
    to: 'Failed',
    then: 'the handle is kept; deletion is tried again with backoff',
  },
  {
    id: 'V24',
    from: 'Available',
    event: 'deleteFailed',
    to: 'Failed',
    then: 'the handle is kept; deletion is tried again with backoff',
  },
  {
    id: 'V24',
    from: 'Failed',
    event: 'deleteFailed',
    to: 'Failed',
    then: 'the handle is kept; deletion is tried again with backoff',
  },
  {
    id: 'V25',
    from: 'Released',
    event: 'forgotten',
    to: 'None',
    then: 'policy retain: only the object goes, the data stays',
  },
  {
    id: 'V25',
    from: 'Available',
    event: 'forgotten',
    to: 'None',
    then: 'the same, deleted by hand',
  },
  {
    id: 'V25',
    from: 'Failed',
    event: 'forgotten',
    to: 'None',
    then: 'the same, or no driver was asked to make it',
  },
  {
    id: 'V26',
    from: 'Released',
    event: 'ownerBack',
    to: 'Available',
    then: 'the same service and ordinal, or reuse by hand',
  },
  {
    id: 'V27',
    from: 'Available',
    event: 'lost',
    to: 'Failed',
    then: 'seen absent twice: VolumeLost; never made again silently',
  },
  {
    id: 'V27',
    from: 'Bound',
    event: 'lost',
    to: 'Failed',
    then: 'seen absent twice: VolumeLost; never made again silently',
  },
  {
    id: 'V27',
    from: 'Failed',
    event: 'found',
    to: 'Available',
    then: 'a lost volume is there again (its disk was not mounted, say)',
  },
  {
    id: 'V27',
    from: 'Failed',
    event: 'foundAttached',
    to: 'Bound',
    then: 'the same, where an instance still holds it',
  },
  {
    id: 'V28',
    from: 'Bound',
    event: 'deletionRefused',
    to: 'Bound',
    then: 'FailedPrecondition',
  },
  {
    id: 'V29',
    from: 'Stalled',
    event: 'deletionRequested',
    to: 'Stalled',
    then: 'the outcome is observed first',
  },
  {
    id: 'V30',
    from: 'Available',
    event: 'resized',
    to: 'Available',
    then: 'the file system grows where it can, else at the next mount',
  },
  {
    id: 'V30',
    from: 'Bound',
    event: 'resized',
    to: 'Bound',
    then: 'only where the driver can grow online',
  },
  {
    id: 'V31',
    from: 'Released',
    event: 'policyEdited',
    to: 'Released',
    then: 'the policy counts when it is reclaimed',
  },
] as const satisfies readonly {
  readonly id: `V${number}`;
  readonly from: VolumePhase | 'None';
  readonly event: string;
  readonly to: VolumePhase | 'None';
  readonly then: string;
}[];

type Transition = (typeof transitions)[number];

/** The events of a phase; for a union of phases only the common ones. */
export type VolumeEvent<From extends VolumePhase> = EventFrom<Transition, From>;

/** A phase that is the result of a transition. */
export type NextVolumePhase = Reached<VolumePhase>;

/** The phases of a volume for its kind, and the phase after an event. */
export const { states: volumeStates, next: nextPhase } = transitionTable(transitions);
